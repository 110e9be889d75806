//go:build unix

package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// Binary is a program that [Build] or [Install] can build: the import path of
// its main package. For Build the package must be among the tools in this
// module's go.mod, which pin its version.
type Binary string

// The programs of a control plane. [Start] uses etcd and kube-apiserver, and a
// restore the other two of etcd.
const (
	Etcd                  Binary = "go.etcd.io/etcd/server/v3"
	Etcdctl               Binary = "go.etcd.io/etcd/etcdctl/v3"
	Etcdutl               Binary = "go.etcd.io/etcd/etcdutl/v3"
	KubeAPIServer         Binary = "k8s.io/kubernetes/cmd/kube-apiserver"
	KubeControllerManager Binary = "k8s.io/kubernetes/cmd/kube-controller-manager"
	KubeScheduler         Binary = "k8s.io/kubernetes/cmd/kube-scheduler"
	Kubectl               Binary = "k8s.io/kubernetes/cmd/kubectl"
)

// Name is the program's name.
func (b Binary) Name() string {
	if b == Etcd {
		return "etcd"
	}
	return b.file()
}

// file is the name that go install gives the program: without a major version.
func (b Binary) file() string { return path.Base(strings.TrimSuffix(string(b), "/v3")) }

// BuildConfig says where binaries are built and kept. The zero value is right
// inside this module.
type BuildConfig struct {
	// ModuleDir is a folder inside this module, whose go.mod pins what is built.
	// Empty means the working directory; a test runs in the folder of its package.
	ModuleDir string
	// CacheDir keeps the binaries, about 150 MB for etcd and kube-apiserver. Empty
	// means kubelife-lifecycle in the user's cache directory.
	CacheDir string
	// Progress gets a line when a binary is built, and one when it is there. Nil
	// means none.
	Progress io.Writer
}

// Build returns the paths of the named programs, which the go command builds
// unless they are up to date. That it finds out in some seconds, once in each
// process. With cold caches etcd and kube-apiserver take about five minutes on
// two cores, and the network for the Go modules.
//
// There is a folder for each version of Kubernetes. Concurrent calls, also of
// other processes, build one after the other.
func Build(ctx context.Context, config BuildConfig, binaries ...Binary) (map[Binary]string, error) {
	found, err := Go(ctx, config.ModuleDir, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return nil, fmt.Errorf("%w; run inside examples/e2e or set BuildConfig.ModuleDir", err)
	}
	version := strings.TrimSpace(string(found))
	paths := map[Binary]string{}
	for _, binary := range binaries {
		paths[binary], err = config.install(ctx, binary, version, "-ldflags="+ldflags(version), string(binary))
		if err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// ldflags stamps the version into the binaries, as Kubernetes' own build does.
// Without it the API server calls itself v0.0.0, and clients of it go by that.
func ldflags(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	flags := []string{"-s -w"} // without the debugger's tables: a third of the size
	// The first package is what a program reports, the second what it sends as
	// user agent.
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags, fmt.Sprintf("-X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s",
			pkg, version, major, minor))
	}
	return strings.Join(flags, " ")
}

// Install is [Build] for a program that is not among the tools of go.mod. The
// requirements of its module do not mix with those here then. The version is
// one of that module, such as v0.8.0. Its go.mod decides about all others, and
// Go's checksum database vouches for them.
func Install(ctx context.Context, config BuildConfig, binary Binary, version string) (string, error) {
	return config.install(ctx, binary, binary.Name()+"-"+version, string(binary)+"@"+version)
}

// installed are the programs that this process has had built.
var installed = struct {
	sync.Mutex
	paths map[string]bool
}{paths: map[string]bool{}}

// install has the go command install a program into a folder of the cache.
func (c BuildConfig) install(ctx context.Context, binary Binary, folder string, args ...string) (string, error) {
	folder, err := c.makeFolder(folder)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, binary.file())
	installed.Lock()
	defer installed.Unlock()
	if installed.paths[path] {
		return path, nil
	}
	c.printf("%s: building into %s (minutes when Go's build cache is cold)", binary.Name(), folder)
	begun := time.Now()
	unlock, err := lock(ctx, folder)
	if err != nil {
		return "", err
	}
	defer unlock()
	// With a temporary folder beside it the new binary takes the place of the old
	// one at once, so that another process can start it at any time.
	env := []string{"GOBIN=" + folder, "GOTMPDIR=" + folder}
	if _, err := goWith(ctx, c.ModuleDir, env, append([]string{"install"}, args...)...); err != nil {
		return "", fmt.Errorf("building %s: %w", binary.Name(), err)
	}
	c.printf("%s: there after %s", binary.Name(), time.Since(begun).Round(100*time.Millisecond))
	installed.paths[path] = true
	return path, nil
}

// makeFolder returns the absolute path of a folder of the cache, which exists
// then.
func (c BuildConfig) makeFolder(name string) (string, error) {
	root := c.CacheDir
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no place for the binaries, set BuildConfig.CacheDir: %w", err)
		}
		root = filepath.Join(user, "kubelife-lifecycle")
	}
	folder, err := filepath.Abs(filepath.Join(root, name))
	if err != nil {
		return "", err
	}
	return folder, os.MkdirAll(folder, 0o755)
}

const (
	// longestBuild is many times what a build takes.
	longestBuild = time.Hour
	lockPeriod   = 50 * time.Millisecond
)

// lock takes the lock of a folder, which is one between processes. The kernel
// frees it when its holder dies.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	folder, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := wait.For(ctx, longestBuild, lockPeriod, "another process that builds", func(context.Context) error {
		return syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return func() { _ = folder.Close() }, nil
}

func (c BuildConfig) printf(format string, args ...any) {
	if c.Progress != nil {
		fmt.Fprintf(c.Progress, format+"\n", args...)
	}
}

// Go runs the go command in a folder and returns its output, or an error with
// what it complained about. A workspace of the developer's is left out: it would
// choose other versions.
func Go(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return goWith(ctx, dir, nil, args...)
}

func goWith(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "GOWORK=off"), env...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out, nil
}
