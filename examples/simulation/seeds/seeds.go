// Package seeds runs random worlds by their seeds. It is for tests that draw a
// world from each seed and check what has happened in it.
//
//	var worlds = seeds.Register(flag.CommandLine, 150)
//
//	failed := seeds.Explore(worlds.First, worlds.Seeds, run, seeds.All)
//
// [Register] adds the flags -seeds, -first and -until, which such tests have in
// common. With -until a test searches for the first seed that violates an
// invariant, and calls [Search]. Package examples/simulation/mutant runs it so,
// with a deliberate fault in place.
package seeds

import (
	"cmp"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kubelife/lifecycle/examples/simulation/mutant"
)

// Flags say which worlds to run.
type Flags struct {
	// Seeds is how many there are, from First on.
	Seeds, First uint64
	// Until is the invariant that a search is for, or empty.
	Until string
}

// Register adds the flags to a set. Their values count once it is parsed.
// Without the flag so many seeds run.
func Register(flags *flag.FlagSet, seeds uint64) *Flags {
	f := &Flags{}
	flags.Uint64Var(&f.Seeds, "seeds", seeds, "how many random worlds to run")
	flags.Uint64Var(&f.First, "first", 1, "the seed of the first one")
	flags.StringVar(&f.Until, "until", "",
		"stop at the first seed that violates this invariant, and say only which it is")
	return f
}

// Finding is a seed that fails: its world violates something, or could not be
// run.
type Finding[V any] struct {
	Seed       uint64
	Violations []V
	Err        error
}

// Explore runs seeds on all cores and returns those that fail, by seed. It
// stops when done says that a finding is enough. Run must be safe for
// concurrent use, as must done.
func Explore[V any](
	first, seeds uint64, run func(seed uint64) ([]V, error), done func(Finding[V]) bool,
) []Finding[V] {
	var next atomic.Uint64
	var stop atomic.Bool
	var mutex sync.Mutex
	var findings []Finding[V]
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			// Seeds are begun in their order and those that are begun are finished. So
			// the lowest that fails is found, whichever worker is faster.
			for seed := first + next.Add(1) - 1; seed < first+seeds && !stop.Load(); seed = first + next.Add(1) - 1 {
				violations, err := run(seed)
				if len(violations) == 0 && err == nil {
					continue
				}
				found := Finding[V]{seed, violations, err}
				if done(found) {
					stop.Store(true)
				}
				mutex.Lock()
				findings = append(findings, found)
				mutex.Unlock()
			}
		})
	}
	workers.Wait()
	slices.SortFunc(findings, func(a, b Finding[V]) int { return cmp.Compare(a.Seed, b.Seed) })
	return findings
}

// All is a done for [Explore] that runs all seeds.
func All[V any](Finding[V]) bool { return false }

// Search runs seeds until one has a finding that is wanted. It prints that seed
// for package mutant. Without one the error says how many other findings there
// are, by the name of their first violation.
func Search[V any](
	first, seeds uint64, run func(seed uint64) ([]V, error), wanted func(Finding[V]) bool, name func(V) string,
) error {
	findings := Explore(first, seeds, run, wanted)
	for _, found := range findings {
		if wanted(found) {
			fmt.Println(mutant.Found(found.Seed))
			return nil
		}
	}
	return fmt.Errorf("none of %d worlds violates it; violated are %v", seeds, Count(findings, name))
}

func (f Finding[V]) first(name func(V) string) string {
	if len(f.Violations) == 0 {
		return f.Err.Error()
	}
	return name(f.Violations[0])
}

// Count returns how many findings there are by the name of their first
// violation.
func Count[V any](findings []Finding[V], name func(V) string) map[string]int {
	counts := map[string]int{}
	for _, found := range findings {
		counts[found.first(name)]++
	}
	return counts
}

// Shrink returns the steps that still fail, and pass if any more is taken away.
// It tries at most so many times, and what it has by then it returns.
func Shrink[S any](failing []S, fails func([]S) bool, tries int) []S {
	best := failing
	for i := 0; i < len(best) && tries > 0; tries-- {
		if smaller := slices.Delete(slices.Clone(best), i, i+1); fails(smaller) {
			best, i = smaller, 0
		} else {
			i++
		}
	}
	return best
}
