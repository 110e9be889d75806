package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Install is [Build] for a program that is not among the tools of go.mod. The
// requirements of its module do not mix with those here then. The version is
// one of that module, such as v0.8.0. Its go.mod decides about all others, and
// Go's checksum database vouches for them.
func Install(ctx context.Context, config BuildConfig, binary Binary, version string) (string, error) {
	root, err := config.cacheRoot()
	if err != nil {
		return "", err
	}
	settings, err := readSettings(ctx, config.ModuleDir)
	if err != nil {
		return "", err
	}
	delete(settings, "GOMOD") // it decides nothing about a program of its own module
	cache := &binaryCache{
		root: root, dir: filepath.Join(root, cacheKey(version, []string{string(binary)}, settings)),
		source: released(version), progress: config.Progress,
	}
	path, err := cache.get(ctx, binary)
	if err != nil {
		return "", fmt.Errorf("installing %s: %w", binary.Name(), err)
	}
	return path, nil
}

// released is a version of modules, with what their own go.mod require.
type released string

// String says which version it is.
func (v released) String() string { return string(v) }

// build installs one program into the file target. It does so by way of a
// folder, because go install chooses the name.
func (v released) build(ctx context.Context, binary Binary, target string, compiled func(pkg string)) error {
	folder := target + ".d"
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "install", "-v", string(binary)+"@"+string(v))
	cmd.Dir, cmd.Env = folder, append(goEnvironment(), "GOBIN="+folder)
	err := runBuild(cmd, compiled)
	if err == nil {
		err = os.Rename(filepath.Join(folder, binary.Name()), target)
	}
	return errors.Join(err, os.RemoveAll(folder))
}
