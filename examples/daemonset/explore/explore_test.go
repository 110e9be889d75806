package explore

import (
	"cmp"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/daemonset/simulation"
)

var (
	seeds  = flag.Uint64("seeds", uint64(sized(150, 2500)), "how many random worlds to run")
	first  = flag.Uint64("first", 1, "the seed of the first one")
	wanted = flag.String("until", "", "stop at the first seed that violates this invariant, and say only which it is")
)

// finding is a seed that fails.
type finding struct {
	seed       uint64
	violations []invariant.Violation
	err        error
}

// explore runs seeds on all cores and returns those that fail, by seed. It
// stops when done says that a finding is enough.
func explore(first, seeds uint64, done func(finding) bool) []finding {
	var next atomic.Uint64
	var stop atomic.Bool
	var mutex sync.Mutex
	var findings []finding
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			// Seeds are begun in their order and those that are begun are finished. So
			// the lowest that fails is found, whichever worker is faster.
			for seed := first + next.Add(1) - 1; seed < first+seeds && !stop.Load(); seed = first + next.Add(1) - 1 {
				violations, err := Run(Generate(seed))
				if len(violations) == 0 && err == nil {
					continue
				}
				found := finding{seed, violations, err}
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
	slices.SortFunc(findings, func(a, b finding) int { return cmp.Compare(a.seed, b.seed) })
	return findings
}

// violates reports whether an invariant is among those that the finding
// violates. What never rests is not quiet.
func (f finding) violates(what invariant.Invariant) bool {
	return f.err != nil && what == invariant.Quiet ||
		slices.ContainsFunc(f.violations, func(v invariant.Violation) bool { return v.Invariant == what })
}

// TestRandomWorlds runs random worlds in which everything goes wrong that can,
// and wants every invariant to hold in each.
func TestRandomWorlds(t *testing.T) {
	if *wanted != "" {
		untilViolated(t, invariant.Invariant(*wanted))
		return
	}
	const shown = 3
	failed := explore(*first, *seeds, func(finding) bool { return false })
	for _, found := range failed[:min(shown, len(failed))] {
		show(t, found)
	}
	if len(failed) > 0 {
		counts := map[invariant.Invariant]int{}
		for _, found := range failed {
			for _, v := range found.violations[:min(1, len(found.violations))] {
				counts[v.Invariant]++
			}
		}
		t.Errorf("%d of %d worlds fail: %v", len(failed), *seeds, counts)
	}
}

// untilViolated looks for the first seed that violates an invariant.
func untilViolated(t *testing.T, what invariant.Invariant) {
	t.Helper()
	others := map[invariant.Invariant]int{}
	for _, found := range explore(*first, *seeds, func(f finding) bool { return f.violates(what) }) {
		if found.violates(what) {
			fmt.Printf("FOUND %d\n", found.seed)
			return
		}
		for _, v := range found.violations {
			others[v.Invariant]++
		}
	}
	t.Fatalf("%q holds in %d worlds; violated are %v", what, *seeds, others)
}

// show shows a failing seed with as few steps as it can have.
func show(t *testing.T, found finding) {
	t.Helper()
	again := fmt.Sprintf("Run it again with -args -seeds 1 -first %d", found.seed)
	if found.err != nil {
		t.Errorf("seed %d: %v\n%s", found.seed, found.err, again)
		return
	}
	what := found.violations[0].Invariant
	small := Shrink(Generate(found.seed), func(s *simulation.Scenario) bool {
		violations, err := Run(s)
		return err == nil && finding{violations: violations}.violates(what)
	}, 300)
	violations, err := Run(small)
	require.NoError(t, err)
	t.Errorf("seed %d: %v\n\nWith as few steps as it can have, %d nodes:\n%s\n%s\n%s", found.seed, found.violations[0],
		small.Nodes, lines(small.Steps), lines(violations), again)
}

func lines[T fmt.Stringer](all []T) string {
	var text strings.Builder
	for _, one := range all {
		text.WriteString("  " + one.String() + "\n")
	}
	return text.String()
}
