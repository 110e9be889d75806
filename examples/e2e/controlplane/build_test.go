package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
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

func TestBuildTwiceBuildsOnceAndSaysSo(t *testing.T) {
	said := &progress{}
	config := BuildConfig{ModuleDir: writeModule(t, "v1.37.1"), CacheDir: t.TempDir(), Progress: said}
	first := mustBuild(t, config)
	begun := time.Now()
	second := mustBuild(t, config)
	t.Logf("the second took %s", time.Since(begun).Round(time.Millisecond))
	if first != second {
		t.Errorf("two paths: %s and %s", first, second)
	}
	if built, cached := said.count("built in"), said.count("not built"); built != 1 || cached != 1 {
		t.Errorf("built %d times and cached %d times, want once each:\n%s", built, cached, &said.text)
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
	if built := said.count("built in"); built != 1 {
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

func TestKeyChangesWithWhatDecidesTheBinary(t *testing.T) {
	dir := writeModule(t, "v1.37.1")
	module := readFile(t, filepath.Join(dir, "go.mod"))
	find := func(module string) *toolchain {
		writeFile(t, filepath.Join(dir, "go.mod"), module)
		tools, err := findToolchain(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return tools
	}
	same := find(module).key()
	for name, changed := range map[string]string{
		"Kubernetes":    strings.Replace(module, "v1.37.1", "v1.37.2", 1),
		"requirement":   module + "require example.test/more v1.0.0\n",
		"replacement":   module + "replace example.test/more => example.test/less v1.0.0\n",
		"exclusion":     module + "exclude example.test/more v1.0.0\n",
		"language":      strings.Replace(module, "go 1.26.0", "go 1.25.0", 1),
		"godebug value": module + "godebug panicnil=1\n",
	} {
		if find(changed).key() == same {
			t.Errorf("another %s in go.mod, and the key is the same", name)
		}
	}
	for _, name := range goSettings {
		tools := find(module)
		tools.settings[name] += "x"
		if tools.key() == same {
			t.Errorf("another %s, and the key is the same", name)
		}
	}
}

func TestKeyStaysWithWhatDoesNot(t *testing.T) {
	module := readFile(t, filepath.Join(writeModule(t, "v1.37.1"), "go.mod")) + "require example.test/more v1.0.0\n"
	key := func(module string) string {
		dir := writeModule(t, "v1.37.1") // each time another folder
		writeFile(t, filepath.Join(dir, "go.mod"), module)
		tools, err := findToolchain(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return tools.key()
	}
	same := key(module)
	for name, changed := range map[string]string{
		"nothing":                 module,
		"a comment":               module + "// more\n",
		"a requirement's sort":    strings.Replace(module, "more v1.0.0", "more v1.0.0 // indirect", 1),
		"a tool":                  module + "tool example.test/e2e/hello\n",
		"the version of a folder": strings.Replace(module, "component-base v0.37.1", "component-base v0.0.0", 1),
	} {
		if key(changed) != same {
			t.Errorf("%s changes the key", name)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestUnusedBinariesAreRemovedAndUsedOnesStay(t *testing.T) {
	cache := t.TempDir()
	old := time.Now().Add(-unusedFor - time.Hour)
	for _, name := range []string{"v1.36.0-unused", "v1.36.1-used", "ports"} {
		writeFile(t, filepath.Join(cache, name, "file"), "")
	}
	for _, name := range []string{"v1.36.0-unused", "ports"} {
		if err := os.Chtimes(filepath.Join(cache, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	path := mustBuild(t, BuildConfig{ModuleDir: writeModule(t, "v1.37.1"), CacheDir: cache})
	left := map[string]bool{filepath.Base(filepath.Dir(path)): true, "v1.36.1-used": true, "ports": true}
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, entry := range entries {
		got[entry.Name()] = true
	}
	if !maps.Equal(got, left) {
		t.Errorf("left are %v, want %v", got, left)
	}
}

func TestOneProcessAtATimeBuilds(t *testing.T) {
	said := &progress{}
	cache := &binaryCache{dir: t.TempDir(), progress: said}
	unlock, err := cache.lock(t.Context(), hello)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*lockPeriod)
	defer cancel()
	if _, err := cache.lock(ctx, hello); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second holder got %v, want the context's error", err)
	}
	if told := said.count("waiting for another process"); told != 1 {
		t.Errorf("told %d times that it waits, want once", told)
	}
	unlock()
	unlock, err = cache.lock(t.Context(), hello)
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

// go mod tidy keeps in go.mod what is among the tools; what is not would lose
// its version.
func TestEveryBinaryIsAToolOfThisModule(t *testing.T) {
	out, err := goCommand(t.Context(), "", "list", "tool")
	if err != nil {
		t.Fatal(err)
	}
	tools := strings.Fields(string(out))
	for _, binary := range Binaries() {
		if !slices.Contains(tools, string(binary)) {
			t.Errorf("%s is not among the tools %v", binary, tools)
		}
	}
}

func ExampleBinary_Name() {
	for _, binary := range Binaries() {
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
