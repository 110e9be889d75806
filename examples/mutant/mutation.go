package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A Mutation is a deliberate fault: some characters of one source file and what
// stands there instead.
type Mutation struct {
	// Name says what is wrong with the fault in place.
	Name string
	// File is a path from the repository's root, with slashes.
	File string
	// Old stands in the file exactly once, and With is put in its place.
	Old, With string
}

// ErrUnfit means that a mutation does not fit its source: what it replaces
// stands there not at all, or more than once.
var ErrUnfit = errors.New("the mutation does not fit the source")

// Source returns the file with the fault and its path in the repository at
// root. It changes nothing.
func (m *Mutation) Source(root string) (path string, mutated []byte, err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return "", nil, fmt.Errorf("mutation %q: %w", m.Name, err)
	}
	path = filepath.Join(root, filepath.FromSlash(m.File))
	source, err := os.ReadFile(path)
	if err != nil {
		return "", nil, fmt.Errorf("mutation %q: %w", m.Name, err)
	}
	if n := strings.Count(string(source), m.Old); n != 1 || m.Old == "" {
		return "", nil, fmt.Errorf("mutation %q: %s holds what it replaces %d times, want once: %w:\n%s",
			m.Name, m.File, n, ErrUnfit, m.Old)
	}
	return path, []byte(strings.Replace(string(source), m.Old, m.With, 1)), nil
}

// Build builds the tests of a package with the fault, and returns the path of
// the binary. The repository is at root. The package is named as go test names
// it in the present folder. All files go to folder, which must exist. The
// caller's TestMain must call [Main].
func (m *Mutation) Build(ctx context.Context, root, pkg, folder string) (program string, err error) {
	path, source, err := m.Source(root)
	if err != nil {
		return "", err
	}
	compiled := filepath.Join(folder, "compiled")
	if err := os.Mkdir(compiled, 0o700); err != nil {
		return "", fmt.Errorf("mutation %q: %w", m.Name, err)
	}
	mutated, overlayFile := filepath.Join(folder, "mutated.go"), filepath.Join(folder, "overlay.json")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		return "", fmt.Errorf("mutation %q: %w", m.Name, err)
	}
	if err := errors.Join(os.WriteFile(mutated, source, 0o600), os.WriteFile(overlayFile, overlay, 0o600)); err != nil {
		return "", fmt.Errorf("mutation %q: %w", m.Name, err)
	}
	program = filepath.Join(folder, "mutated.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlayFile,
		"-o", program, pkg)
	if err := throwaway(ctx, build, compiled); err != nil {
		return "", err
	}
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build with %q: %w:\n%s", m.Name, err, output)
	}
	return program, nil
}

// ErrNotCaught means that a test binary has not found the fault.
var ErrNotCaught = errors.New("the fault was not caught")

// found begins the line by which a test binary says which seed shows a fault.
const found = "FOUND "

// Found returns the line that a test binary prints for [FindSeed].
func Found(seed uint64) string { return found + strconv.FormatUint(seed, 10) }

// FindSeed runs a test binary that searches for the first seed that shows its
// fault. It returns the seed that the binary prints after "FOUND", or
// [ErrNotCaught] with the output.
func FindSeed(ctx context.Context, program string, arguments ...string) (string, error) {
	output, err := exec.CommandContext(ctx, program, arguments...).CombinedOutput()
	_, rest, printed := strings.Cut(string(output), found)
	if err != nil || !printed {
		return "", errors.Join(fmt.Errorf("%w:\n%s", ErrNotCaught, output), err)
	}
	seed, _, _ := strings.Cut(rest, "\n")
	return seed, nil
}

// Fails runs a test binary that fails with its fault in place. It returns
// [ErrNotCaught] if the tests pass, or if none ran.
func Fails(ctx context.Context, program string, arguments ...string) error {
	output, err := exec.CommandContext(ctx, program, arguments...).CombinedOutput()
	if err == nil || !strings.Contains(string(output), "--- FAIL: ") {
		return errors.Join(fmt.Errorf("%w:\n%s", ErrNotCaught, output), err)
	}
	return nil
}
