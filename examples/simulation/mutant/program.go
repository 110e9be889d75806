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

// A Program is a test binary that holds mutations, of which each run has one in
// place. Its methods may be called concurrently.
type Program struct {
	path    string
	numbers map[string]int // by the mutation's name
}

// Build builds the tests of a package with all of the mutations. The repository
// is at root. The package is named as go test names it in the present folder.
// All files go to folder, which must exist.
func Build(ctx context.Context, root, pkg, folder string, mutations []Mutation) (*Program, error) {
	texts, err := weaveAll(root, mutations)
	if err != nil {
		return nil, err
	}
	overlay, err := writeOverlay(folder, texts)
	if err != nil {
		return nil, err
	}
	p := &Program{path: filepath.Join(folder, "mutated.test"), numbers: make(map[string]int)}
	for i := range mutations {
		p.numbers[mutations[i].Name] = number(i)
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay,
		"-o", p.path, pkg)
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build with mutations: %w:\n%s", err, output)
	}
	return p, nil
}

// writeOverlay writes files to a folder, and one that says to the go command in
// whose places they are.
func writeOverlay(folder string, texts map[string][]byte) (string, error) {
	replaced := make(map[string]string)
	for path, text := range texts {
		replaced[path] = filepath.Join(folder, strconv.Itoa(len(replaced))+".go")
		if err := os.WriteFile(replaced[path], text, 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replaced})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// ErrNotCaught means that a test binary has not found the fault.
var ErrNotCaught = errors.New("the fault was not caught")

// found begins the line by which a test binary says which seed shows a fault.
const found = "FOUND "

// Found returns the line that a test binary prints for [Program.FindSeed].
func Found(seed uint64) string { return found + strconv.FormatUint(seed, 10) }

// FindSeed runs the tests with one mutation in place. They search for the first
// seed that shows it. It returns the seed that they print after "FOUND", or
// [ErrNotCaught] with the output.
func (p *Program) FindSeed(ctx context.Context, name string, arguments ...string) (string, error) {
	output, err := p.run(ctx, name, arguments)
	_, rest, printed := strings.Cut(string(output), found)
	if err != nil || !printed {
		return "", errors.Join(fmt.Errorf("%w:\n%s", ErrNotCaught, output), err)
	}
	seed, _, _ := strings.Cut(rest, "\n")
	return seed, nil
}

// Fails runs tests that fail with one mutation in place. It returns
// [ErrNotCaught] if they pass, or if none ran.
func (p *Program) Fails(ctx context.Context, name string, arguments ...string) error {
	output, err := p.run(ctx, name, arguments)
	if err == nil || !strings.Contains(string(output), "--- FAIL: ") {
		return errors.Join(fmt.Errorf("%w:\n%s", ErrNotCaught, output), err)
	}
	return nil
}

func (p *Program) run(ctx context.Context, name string, arguments []string) ([]byte, error) {
	number, known := p.numbers[name]
	if !known {
		return nil, fmt.Errorf("no mutation is named %q", name)
	}
	command := exec.CommandContext(ctx, p.path, arguments...)
	command.Env = append(os.Environ(), environment+"="+strconv.Itoa(number))
	return command.CombinedOutput()
}
