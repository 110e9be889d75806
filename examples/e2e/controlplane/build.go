package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

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
	progressPeriod = 30 * time.Second
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
	root, err := config.cacheRoot()
	if err != nil {
		return nil, err
	}
	tools, err := findToolchain(ctx, config.ModuleDir)
	if err != nil {
		return nil, err
	}
	cache := &binaryCache{root: root, dir: filepath.Join(root, tools.key()), source: tools, progress: config.Progress}
	paths := map[Binary]string{}
	for _, binary := range binaries {
		path, err := cache.get(ctx, binary)
		if err != nil {
			return nil, fmt.Errorf("building %s: %w", binary.Name(), err)
		}
		paths[binary] = path
	}
	return paths, nil
}

func (c BuildConfig) cacheRoot() (string, error) {
	if c.CacheDir != "" {
		return filepath.Abs(c.CacheDir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for the binaries, set BuildConfig.CacheDir: %w", err)
	}
	return filepath.Join(dir, "kubelife-lifecycle"), nil
}

// A source builds binaries into files. compiled is called with each package
// that is not in Go's build cache. It says for messages what it builds.
type source interface {
	fmt.Stringer
	build(ctx context.Context, binary Binary, target string, compiled func(pkg string)) error
}

// binaryCache holds the binaries of one key, in the folder dir under root.
type binaryCache struct {
	root, dir string
	source    source
	progress  io.Writer
}

// get returns the path of the binary, building it if need be.
func (c *binaryCache) get(ctx context.Context, binary Binary) (string, error) {
	if path, ok := c.find(binary); ok {
		return path, nil
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return "", err
	}
	lock, err := waitFileLock(ctx, filepath.Join(c.dir, "lock"), func() {
		c.printf("%s: waiting for another process that builds", binary.Name())
	})
	if err != nil {
		return "", err
	}
	defer lock.release()
	if path, ok := c.find(binary); ok { // the other process built it
		return path, nil
	}
	return c.build(ctx, binary)
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

func (c *binaryCache) build(ctx context.Context, binary Binary) (string, error) {
	c.printf("%s, %s: building (minutes when Go's build cache is cold)", binary.Name(), c.source)
	started := time.Now()
	var packages atomic.Int64
	done := make(chan struct{})
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		c.reportUntil(done, binary, started, &packages)
	}()

	// The name says which process left it, should this one be killed; the next
	// build writes over it.
	unfinished := filepath.Join(c.dir, "."+binary.Name()+".unfinished")
	err := c.source.build(ctx, binary, unfinished, func(string) { packages.Add(1) })
	close(done)
	<-reported
	if err != nil {
		return "", errors.Join(err, removeIfExists(unfinished))
	}

	path := filepath.Join(c.dir, binary.Name())
	if err := os.Rename(unfinished, path); err != nil {
		return "", err
	}
	c.printf("%s: built in %s, %d packages compiled, kept in %s",
		binary.Name(), time.Since(started).Round(100*time.Millisecond), packages.Load(), c.dir)
	c.removeUnused()
	return path, nil
}

// reportUntil prints how far the build is, for the person before a terminal and
// for machines that kill silent jobs.
func (c *binaryCache) reportUntil(done <-chan struct{}, binary Binary, started time.Time, packages *atomic.Int64) {
	ticker := time.NewTicker(progressPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			c.printf("%s: still building after %s, %d packages compiled",
				binary.Name(), time.Since(started).Round(time.Second), packages.Load())
		}
	}
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

func removeIfExists(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
