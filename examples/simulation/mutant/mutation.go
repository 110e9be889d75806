package mutant

import (
	"errors"
	"fmt"
	"path/filepath"
)

// A Mutation is a deliberate fault: an expression, or statements, of one
// function, what stands there instead, and what has to catch that.
type Mutation struct {
	// Name says what is wrong with the fault in place.
	Name string
	// Package is the folder of the function, from the repository's root, with
	// slashes.
	Package string
	// Func is the function, as its declaration begins, without types of
	// parameters: "deadline", or "(*Tracker) Halt". The rule knows a receiver or
	// parameter by the name that it has here, whatever it has in the source:
	// "(t *Tracker) Halt(now)".
	Func string
	// Rule is "pattern -> replacement", of two expressions or of two lists of
	// statements, of which the second may be empty. In the pattern an identifier
	// of one small letter stands for any expression, each time for the same. In
	// the replacement it stands for that, or else for itself. All else has to be
	// as it is in the source, except comments and white space.
	Rule string
	// Occurrence says which it is of several places that the pattern fits, from
	// 1 on. It is zero if there is one.
	Occurrence int
	// Caught is what has to catch the fault: at least one, and each of them.
	Caught []Catch
}

// New returns a mutation of the only place that its rule's pattern fits.
func New(name, pkg, function, rule string, caught ...Catch) Mutation {
	return Mutation{Name: name, Package: pkg, Func: function, Rule: rule, Caught: caught}
}

// At returns the same at another place.
func (m Mutation) At(occurrence int) Mutation {
	m.Occurrence = occurrence
	return m
}

// A Catch is some tests that have to notice a fault.
type Catch struct {
	// Package has the tests. The go command knows it by that in the folder of
	// the test that calls [Run].
	Package string
	// Tests are the arguments of the test binary, which choose what is run.
	Tests []string
	// Until is the invariant that has to be violated, in a random world from
	// seed First on, or the binary's first one. If it is empty the tests have to
	// fail.
	Until string
	First uint64
}

// From returns the same with another first seed, for a fault that earlier seeds
// are known not to show.
func (c Catch) From(first uint64) Catch {
	c.First = first
	return c
}

// ErrUnfit means that a mutation does not fit its source. There is no such
// function, or what the mutation replaces is not there, or at several places.
var ErrUnfit = errors.New("the mutation does not fit the source")

// Fit returns an error if one of the mutations cannot be put into the
// repository at root. It also returns one for two of one name, and for one that
// nothing has to catch. It builds nothing, so a fault of types is not seen.
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
	packages, names := make(map[string][]*source), make(map[string]bool)
	for i := range mutations {
		m := &mutations[i]
		if names[m.Name] {
			return nil, fmt.Errorf("two mutations are named %q", m.Name)
		}
		names[m.Name] = true
		if len(m.Caught) == 0 {
			return nil, fmt.Errorf("mutation %q is caught by no tests", m.Name)
		}
		folder := filepath.Join(root, filepath.FromSlash(m.Package))
		if packages[folder] == nil {
			if packages[folder], err = readPackage(folder); err != nil {
				return nil, fmt.Errorf("mutation %q: %w", m.Name, err)
			}
		}
		if err := add(packages[folder], number(i), m); err != nil {
			return nil, fmt.Errorf("mutation %q of %s in %s: %w", m.Name, m.Func, m.Package, err)
		}
	}
	texts := make(map[string][]byte)
	for folder, sources := range packages {
		for _, s := range sources {
			if len(s.faults) > 0 {
				texts[s.path] = s.mutated()
			}
		}
		texts[filepath.Join(folder, chosenFile)] = chosen(sources[0].file.Name.Name)
	}
	return texts, nil
}

// number is what the environment says to have the i-th mutation in place. Zero
// is none.
func number(i int) int { return i + 1 }
