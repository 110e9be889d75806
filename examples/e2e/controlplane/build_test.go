package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// hello is the program of the module that these tests build, which stands for
// this one.
const hello Binary = "example.test/e2e/hello"

// writeModule makes a module that pins k8s.io/kubernetes and has a program
// which prints the version stamped into it.
func writeModule(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.test/e2e\n\ngo 1.26.0\n\n" +
			"require (\n\tk8s.io/component-base v0.37.1\n\tk8s.io/kubernetes " + version + "\n)\n\n" +
			"replace (\n\tk8s.io/component-base => ./base\n\tk8s.io/kubernetes => ./kubernetes\n)\n",
		"hello/main.go": "package main\n\nimport \"k8s.io/component-base/version\"\n\nfunc main() { version.Print() }\n",
		"base/go.mod":   "module k8s.io/component-base\n\ngo 1.26.0\n",
		"base/version/version.go": "package version\n\nvar gitVersion, gitMajor, gitMinor string\n\n" +
			"func Print() { println(gitVersion, gitMajor, gitMinor) }\n",
		"kubernetes/go.mod": "module k8s.io/kubernetes\n\ngo 1.26.0\n",
	} {
		writeFile(t, filepath.Join(dir, name), content)
	}
	return dir
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// progress collects what Build prints, from any number of goroutines.
type progress struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *progress) count(text string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Count(p.text.String(), text)
}

func mustBuild(t *testing.T, config BuildConfig) string {
	t.Helper()
	paths, err := Build(t.Context(), config, hello)
	if err != nil {
		t.Fatal(err)
	}
	return paths[hello]
}

func TestBuildStampsTheVersionOfTheModule(t *testing.T) {
	config := BuildConfig{ModuleDir: writeModule(t, "v1.37.1"), CacheDir: t.TempDir()}
	out, err := exec.Command(mustBuild(t, config)).CombinedOutput()
	if err != nil || string(out) != "v1.37.1 1 37\n" {
		t.Errorf("the program printed %q, %v", out, err)
	}
}

// A process asks the go command once, and the next one finds what is there.
func TestWhatIsThereIsNotBuiltAgain(t *testing.T) {
	said := &progress{}
	config := BuildConfig{ModuleDir: writeModule(t, "v1.37.1"), CacheDir: t.TempDir(), Progress: said}
	first := mustBuild(t, config)
	built, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	if second := mustBuild(t, config); first != second {
		t.Errorf("two paths: %s and %s", first, second)
	}
	if told := said.count("there after"); told != 1 {
		t.Errorf("asked the go command %d times:\n%s", told, &said.text)
	}
	forgetInstalled()
	mustBuild(t, config)
	found, err := os.Stat(first) // of which the go command sets the time
	if err != nil || !os.SameFile(built, found) {
		t.Errorf("it was built again: %v, %v, %v", built, found, err)
	}
}

// forgetInstalled is what another process knows.
func forgetInstalled() {
	installed.Lock()
	defer installed.Unlock()
	installed.paths = map[string]bool{}
}

func TestWhatHasChangedIsBuiltAgain(t *testing.T) {
	config := BuildConfig{ModuleDir: writeModule(t, "v1.37.1"), CacheDir: t.TempDir()}
	mustBuild(t, config)
	writeFile(t, filepath.Join(config.ModuleDir, "hello/main.go"), "package main\n\nfunc main() { print(\"changed\") }\n")
	forgetInstalled()
	out, err := exec.Command(mustBuild(t, config)).CombinedOutput()
	if err != nil || string(out) != "changed" {
		t.Errorf("the program printed %q, %v", out, err)
	}
	other := BuildConfig{ModuleDir: writeModule(t, "v1.37.2"), CacheDir: config.CacheDir}
	if mustBuild(t, config) == mustBuild(t, other) {
		t.Error("two versions of Kubernetes have one path")
	}
}

func TestBuildAtTheSameTimeBuildsOnce(t *testing.T) {
	said := &progress{}
	config := BuildConfig{ModuleDir: writeModule(t, "v1.37.1"), CacheDir: t.TempDir(), Progress: said}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			paths, err := Build(t.Context(), config, hello)
			if err != nil {
				t.Error(err)
				return
			}
			if err := exec.Command(paths[hello]).Run(); err != nil {
				t.Errorf("what Build returned does not run: %v", err)
			}
		})
	}
	group.Wait()
	if built := said.count("there after"); built != 1 {
		t.Errorf("built %d times:\n%s", built, &said.text)
	}
}

func TestBuildFromAnyFolderOfTheModule(t *testing.T) {
	dir, cache := writeModule(t, "v1.37.1"), t.TempDir()
	top := mustBuild(t, BuildConfig{ModuleDir: dir, CacheDir: cache})
	below := mustBuild(t, BuildConfig{ModuleDir: filepath.Join(dir, "hello"), CacheDir: cache})
	if top != below {
		t.Errorf("the folder matters: %s and %s", top, below)
	}
}

func TestBuildOutsideOfTheModuleSaysWhatToDo(t *testing.T) {
	_, err := Build(t.Context(), BuildConfig{ModuleDir: t.TempDir(), CacheDir: t.TempDir()}, hello)
	if err == nil || !strings.Contains(err.Error(), "BuildConfig.ModuleDir") {
		t.Errorf("got %v", err)
	}
}

func TestAFailedBuildLeavesNothingAndShowsTheCompiler(t *testing.T) {
	dir, cache := writeModule(t, "v1.37.1"), t.TempDir()
	writeFile(t, filepath.Join(dir, "hello/main.go"), "package main\n\nfunc main() { nonsense() }\n")
	config := BuildConfig{ModuleDir: dir, CacheDir: cache}
	if _, err := Build(t.Context(), config, hello); err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("got %v, want the compiler's words", err)
	}
	var left []string
	_ = filepath.WalkDir(cache, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			left = append(left, path)
		}
		return err
	})
	if left != nil {
		t.Errorf("left behind: %v", left)
	}

	writeFile(t, filepath.Join(dir, "hello/main.go"), "package main\n\nfunc main() {}\n")
	mustBuild(t, config)
}

func TestOneProcessAtATimeBuilds(t *testing.T) {
	folder := t.TempDir()
	unlock, err := lock(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*lockPeriod)
	defer cancel()
	if _, err := lock(ctx, folder); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second holder got %v, want the context's error", err)
	}
	unlock()
	unlock, err = lock(t.Context(), folder)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	unlock()
}

func TestACancelledBuildEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, BuildConfig{CacheDir: t.TempDir()}, hello); err == nil {
		t.Error("it built")
	}
}

// binaries are those that Build can build.
func binaries() []Binary {
	return []Binary{Etcd, Etcdctl, Etcdutl, KubeAPIServer, KubeControllerManager, KubeScheduler, Kubectl}
}

// go mod tidy keeps in go.mod what is among the tools; what is not would lose
// its version.
func TestEveryBinaryIsAToolOfThisModule(t *testing.T) {
	out, err := Go(t.Context(), "", "list", "tool")
	if err != nil {
		t.Fatal(err)
	}
	tools := strings.Fields(string(out))
	for _, binary := range binaries() {
		if !slices.Contains(tools, string(binary)) {
			t.Errorf("%s is not among the tools %v", binary, tools)
		}
	}
}

func ExampleBinary_Name() {
	for _, binary := range binaries() {
		fmt.Println(binary.Name())
	}
	// Output:
	// etcd
	// etcdctl
	// etcdutl
	// kube-apiserver
	// kube-controller-manager
	// kube-scheduler
	// kubectl
}
