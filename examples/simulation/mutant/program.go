package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A program is a test binary that holds mutations, of which each run has one in
// place. Its methods may be called concurrently.
type program struct {
	path    string
	numbers map[string]int // by the mutation's name
}

// build builds the tests of a package with all of the mutations. All files go
// to folder, which must exist.
func build(ctx context.Context, root, pkg, folder string, mutations []Mutation) (*program, error) {
	texts, err := weaveAll(root, mutations)
	if err != nil {
		return nil, err
	}
	overlay, err := writeOverlay(folder, texts)
	if err != nil {
		return nil, err
	}
	p := &program{path: filepath.Join(folder, "mutated.test"), numbers: make(map[string]int)}
	for i := range mutations {
		p.numbers[mutations[i].Name] = number(i)
	}
	command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w",
		"-overlay", overlay, "-o", p.path, pkg)
	if output, err := command.CombinedOutput(); err != nil {
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

// errNotCaught means that a test binary has not found the fault.
var errNotCaught = errors.New("the fault was not caught")

// found begins the line by which a test binary says which seed shows a fault.
const found = "FOUND "

// Found returns the line that a test binary prints when it has found a seed
// that shows a fault.
func Found(seed uint64) string { return found + strconv.FormatUint(seed, 10) }

// catch runs tests with one mutation in place. It returns what has caught it,
// or errNotCaught with the output.
func (p *program) catch(ctx context.Context, name string, c Catch) (string, error) {
	arguments := slices.Clone(c.Tests)
	if c.Until != "" {
		arguments = append(arguments, "-until", c.Until)
	}
	if c.First != 0 {
		arguments = append(arguments, "-first", strconv.FormatUint(c.First, 10))
	}
	output, err := p.run(ctx, name, arguments)
	if c.Until == "" {
		// A test that fails, and not a binary that runs none or cannot run.
		if err == nil || !strings.Contains(string(output), "--- FAIL: ") {
			return "", errors.Join(fmt.Errorf("%w:\n%s", errNotCaught, output), err)
		}
		return "a test that fails", nil
	}
	_, rest, printed := strings.Cut(string(output), found)
	if err != nil || !printed {
		return "", errors.Join(fmt.Errorf("%w by %q:\n%s", errNotCaught, c.Until, output), err)
	}
	seed, _, _ := strings.Cut(rest, "\n")
	return fmt.Sprintf("%q with seed %s", c.Until, seed), nil
}

func (p *program) run(ctx context.Context, name string, arguments []string) ([]byte, error) {
	number, known := p.numbers[name]
	if !known {
		return nil, fmt.Errorf("no mutation is named %q", name)
	}
	command := exec.CommandContext(ctx, p.path, arguments...)
	command.Env = append(os.Environ(), environment+"="+strconv.Itoa(number))
	return command.CombinedOutput()
}
