package mutant

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Mutation is a deliberate fault: some characters of one function and what
// stands there instead.
type Mutation struct {
	// Name says what is wrong with the fault in place. A program knows it by that.
	Name string
	// File is a path from the repository's root, with slashes.
	File string
	// Old stands in the file exactly once, within one function. With is put in
	// its place.
	Old, With string
}

// ErrUnfit means that a mutation does not fit its source. What it replaces
// stands there not at all, more than once, or not within one function.
var ErrUnfit = errors.New("the mutation does not fit the source")

// Fit returns an error if one of the mutations cannot be put into the
// repository at root, or has the name of another. It builds nothing, so a fault
// of types is not seen.
func Fit(root string, mutations []Mutation) error {
	_, err := weaveAll(root, mutations)
	return err
}

// weaveAll returns, by path, the files that hold all mutations.
func weaveAll(root string, mutations []Mutation) (map[string][]byte, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	files, names := make(map[string]*woven), make(map[string]bool)
	for i := range mutations {
		m := &mutations[i]
		if names[m.Name] {
			return nil, fmt.Errorf("two mutations are named %q", m.Name)
		}
		names[m.Name] = true
		path := filepath.Join(root, filepath.FromSlash(m.File))
		if files[path] == nil {
			if files[path], err = readSource(path); err != nil {
				return nil, fmt.Errorf("mutation %q: %w", m.Name, err)
			}
		}
		if err := files[path].add(number(i), m); err != nil {
			return nil, fmt.Errorf("mutation %q of %s: %w", m.Name, m.File, err)
		}
	}
	texts := make(map[string][]byte)
	for path, file := range files {
		texts[path] = file.text()
		texts[filepath.Join(filepath.Dir(path), chosenFile)] = chosen(file.pkg())
	}
	return texts, nil
}

// number is what the environment says to have the i-th mutation in place. Zero
// is none.
func number(i int) int { return i + 1 }

// onlyPlace returns where a text stands in a source.
func onlyPlace(source, text string) (int, error) {
	if n := strings.Count(source, text); n != 1 || text == "" {
		return 0, fmt.Errorf("what it replaces stands there %d times, want once: %w:\n%s", n, ErrUnfit, text)
	}
	return strings.Index(source, text), nil
}

func readSource(path string) (*woven, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(path, string(source))
}
