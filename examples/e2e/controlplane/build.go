//go:build unix

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
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

// Binaries lists the programs above.
func Binaries() []Binary {
	return []Binary{Etcd, Etcdctl, Etcdutl, KubeAPIServer, KubeControllerManager, KubeScheduler, Kubectl}
}

// Name is the program's file name.
func (b Binary) Name() string {
	if b == Etcd {
		return "etcd"
	}
	name := string(b)
	if module, ok := strings.CutSuffix(name, "/v3"); ok { // a major version
		name = module
	}
	return path.Base(name)
}

// BuildConfig says where binaries are built and kept. The zero value is right
// inside this module.
type BuildConfig struct {
	// ModuleDir is a folder inside this module, whose go.mod pins what is built.
	// Empty means the working directory; a test runs in the folder of its package.
	ModuleDir string
	// CacheDir keeps the binaries, about 150 MB for etcd and kube-apiserver. Empty
	// means kubelife-lifecycle in the user's cache directory.
	CacheDir string
	// Progress gets a line per binary, and one every 30 seconds while it is built.
	// Nil means none.
	Progress io.Writer
}

const (
	// progressPeriod is how far apart lines are for the person before a terminal,
	// and for machines that kill silent jobs.
	progressPeriod = 30 * time.Second
	// lockPeriod is how often a process that waits for another looks again.
	lockPeriod = 50 * time.Millisecond
	// Binaries that nothing has asked for this long are removed when others are
	// built. Each change of go.mod leaves 150 MB behind.
	unusedFor = 14 * 24 * time.Hour
)

// Build returns the paths of the named programs, and builds those that are not
// in the cache. Found in the cache, the go command is asked for versions only,
// which takes a fraction of a second. With cold caches etcd and kube-apiserver
// take about five minutes on two cores, and the network for the Go modules.
//
// The cache is keyed by the versions in go.mod, the Go toolchain and the flags.
// (A module that go.mod replaces by a folder counts by the folder's name: its
// content is not looked at.) Concurrent calls, also of other processes, build
// once: the others wait.
func Build(ctx context.Context, config BuildConfig, binaries ...Binary) (map[Binary]string, error) {
	tools, err := findToolchain(ctx, config.ModuleDir)
	if err != nil {
		return nil, err
	}
	cache, err := config.cache(tools.key())
	if err != nil {
		return nil, err
	}
	paths := map[Binary]string{}
	for _, binary := range binaries {
		paths[binary], err = cache.get(ctx, binary, func(folder string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(folder, binary.Name()),
				"-ldflags", tools.ldflags(), string(binary))
			cmd.Dir, cmd.Env = tools.moduleDir, goEnvironment()
			return cmd
		})
		if err != nil {
			return nil, fmt.Errorf("building %s: %w", binary.Name(), err)
		}
	}
	return paths, nil
}

// Install is [Build] for a program that is not among the tools of go.mod. The
// requirements of its module do not mix with those here then. The version is
// one of that module, such as v0.8.0. Its go.mod decides about all others, and
// Go's checksum database vouches for them.
func Install(ctx context.Context, config BuildConfig, binary Binary, version string) (string, error) {
	settings, err := readSettings(ctx, config.ModuleDir)
	if err != nil {
		return "", err
	}
	delete(settings, "GOMOD") // it decides nothing about a program of its own module
	cache, err := config.cache(cacheKey(version, []string{string(binary)}, settings))
	if err != nil {
		return "", err
	}
	path, err := cache.get(ctx, binary, func(folder string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "go", "install", string(binary)+"@"+version)
		cmd.Dir, cmd.Env = folder, append(goEnvironment(), "GOBIN="+folder)
		return cmd
	})
	if err != nil {
		return "", fmt.Errorf("installing %s: %w", binary.Name(), err)
	}
	return path, nil
}

// binaryCache holds the binaries of one key, in the folder dir under root.
type binaryCache struct {
	root, dir string
	progress  io.Writer
}

func (c BuildConfig) cache(key string) (*binaryCache, error) {
	root := c.CacheDir
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("no place for the binaries, set BuildConfig.CacheDir: %w", err)
		}
		root = filepath.Join(user, "kubelife-lifecycle")
	}
	root, err := filepath.Abs(root)
	return &binaryCache{root: root, dir: filepath.Join(root, key), progress: c.Progress}, err
}

// get returns the path of the binary. If need be it is built by a command that
// leaves it in a folder.
func (c *binaryCache) get(ctx context.Context, binary Binary, build func(folder string) *exec.Cmd) (string, error) {
	if path, ok := c.find(binary); ok {
		return path, nil
	}
	unlock, err := c.lock(ctx, binary)
	if err != nil {
		return "", err
	}
	defer unlock()
	if path, ok := c.find(binary); ok { // another process built it
		return path, nil
	}
	return c.build(binary, build)
}

// lock makes the folder and takes its lock, which is one between processes and
// between goroutines of one. The kernel frees it when its holder dies.
func (c *binaryCache) lock(ctx context.Context, binary Binary) (unlock func(), err error) {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, err
	}
	folder, err := os.Open(c.dir)
	if err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = folder.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", c.dir, err), folder.Close())
		}
		if first {
			c.printf("%s: waiting for another process that builds", binary.Name())
		}
		select {
		case <-ctx.Done():
			err := fmt.Errorf("waiting for the lock of %s: %w", c.dir, context.Cause(ctx))
			return nil, errors.Join(err, folder.Close())
		case <-time.After(lockPeriod):
		}
	}
}

// find looks into the cache. What it finds is whole, as build renames it into
// place.
func (c *binaryCache) find(binary Binary) (string, bool) {
	path := filepath.Join(c.dir, binary.Name())
	if _, err := os.Stat(path); err != nil {
		return "", false
	}
	now := time.Now()
	_ = os.Chtimes(c.dir, now, now) // best effort: keeps it from being removed as unused
	c.printf("%s: cached in %s, not built", binary.Name(), c.dir)
	return path, true
}

func (c *binaryCache) build(binary Binary, build func(folder string) *exec.Cmd) (path string, err error) {
	// The name says which process left it, should this one be killed; the next
	// build writes over it.
	folder := filepath.Join(c.dir, "."+binary.Name()+".unfinished")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	c.printf("%s: building into %s (minutes when Go's build cache is cold)", binary.Name(), c.dir)
	started := time.Now()
	built := make(chan error)
	go func() {
		_, err := output(build(folder))
		built <- err
	}()
	ticker := time.NewTicker(progressPeriod)
	defer ticker.Stop()
	for running := true; running; {
		select {
		case <-ticker.C:
			c.printf("%s: still building after %s", binary.Name(), time.Since(started).Round(time.Second))
		case err := <-built:
			if err != nil {
				return "", err
			}
			running = false
		}
	}
	path = filepath.Join(c.dir, binary.Name())
	if err := os.Rename(filepath.Join(folder, binary.Name()), path); err != nil {
		return "", err
	}
	c.printf("%s: built in %s", binary.Name(), time.Since(started).Round(100*time.Millisecond))
	c.removeUnused()
	return path, nil
}

// removeUnused removes the binaries of other keys that nothing has used for
// long. It is housekeeping: what cannot be removed stays.
func (c *binaryCache) removeUnused() {
	entries, err := os.ReadDir(c.root)
	if err != nil {
		return
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !strings.HasPrefix(entry.Name(), "v") || time.Since(info.ModTime()) < unusedFor {
			continue
		}
		_ = os.RemoveAll(filepath.Join(c.root, entry.Name()))
	}
}

func (c *binaryCache) printf(format string, args ...any) {
	if c.progress != nil {
		fmt.Fprintf(c.progress, format+"\n", args...)
	}
}
