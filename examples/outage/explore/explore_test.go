package explore

import (
	"cmp"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/invariant"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

var (
	seeds  = flag.Uint64("seeds", uint64(sized(100, 2000)), "how many random worlds to run")
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
func explore(generate func(uint64) *scenario.Scenario, first, seeds uint64, done func(finding) bool) []finding {
	var next atomic.Uint64
	var stop atomic.Bool
	var mutex sync.Mutex
	var findings []finding
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			// Seeds are begun in their order and those that are begun are finished: so
			// the lowest that fails is found, whichever worker is faster.
			for seed := first + next.Add(1) - 1; seed < first+seeds && !stop.Load(); seed = first + next.Add(1) - 1 {
				violations, err := Run(generate(seed))
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
// violates.
func (f finding) violates(what invariant.Invariant) bool {
	return slices.ContainsFunc(f.violations, func(v invariant.Violation) bool { return v.Invariant == what })
}

// TestRandomWorlds runs random worlds in which everything goes wrong that can,
// and wants every invariant to hold in each.
func TestRandomWorlds(t *testing.T) { wantsAllToHold(t, Generate, *seeds) }

// untilViolated looks for the first seed that violates an invariant.
func untilViolated(t *testing.T, generate func(uint64) *scenario.Scenario, seeds uint64, what invariant.Invariant) {
	t.Helper()
	others := map[invariant.Invariant]int{}
	for _, found := range explore(generate, *first, seeds, func(f finding) bool { return f.violates(what) }) {
		if found.violates(what) {
			fmt.Printf("FOUND %d\n", found.seed)
			return
		}
		for _, v := range found.violations {
			others[v.Invariant]++
		}
	}
	t.Fatalf("%q holds in %d worlds; violated are %v", what, seeds, others)
}

// show shows a failing seed as small as it can be made.
func show(t *testing.T, failing *scenario.Scenario, found finding) {
	t.Helper()
	small := Shrink(failing, violates(found.violations[0].Invariant), 500)
	violations, err := Run(small)
	require.NoError(t, err)
	text, err := scenario.Write(small)
	require.NoError(t, err)
	t.Errorf("seed %d: %v\n\nAs small as it can be made:\n\n%s\n%s\nRun it again with -args -first %d, for one seed",
		found.seed, found.violations[0], text, list(violations), found.seed)
}

func list(violations []invariant.Violation) string {
	text := ""
	for _, v := range violations {
		text += fmt.Sprintln(v)
	}
	return text
}

// violates returns a function that reports whether a scenario violates an
// invariant: the same one, or a smaller scenario would soon show another fault.
func violates(what invariant.Invariant) func(*scenario.Scenario) bool {
	return func(s *scenario.Scenario) bool {
		violations, err := Run(s)
		return err == nil && finding{violations: violations}.violates(what)
	}
}

func TestEveryGeneratedScenarioIsValid(t *testing.T) {
	for seed := range uint64(sized(500, 5000)) {
		require.NoError(t, Generate(seed).Validate(), "seed %d", seed)
	}
}

func TestSeedsReplay(t *testing.T) {
	for seed := range uint64(100) {
		once, again := Generate(seed), Generate(seed)
		require.Equal(t, once, again)
		text, err := scenario.Write(once)
		require.NoError(t, err)
		read, err := scenario.Read("generated", text)
		require.NoError(t, err)
		assert.Equal(t, once, read, "what is printed is what was run")
	}
}

// What few worlds have is in enough of them, and most have nothing of it.
func TestWorldsHaveTheirShareOfEverything(t *testing.T) {
	const worlds = 2000
	found := map[string]int{}
	for seed := range uint64(worlds) {
		s := Generate(seed)
		some := false
		note := func(what string, has bool) {
			if has {
				found[what]++
				some = true
			}
		}
		for _, flag := range []string{"action", "budget-overall", "budget-per-node", "budget-per-namespace",
			"low-priority-first", "eviction-mode", "spare-daemonset-pods"} {
			value, set := s.Controller.Flags[flag]
			note(flag, set)
			if flag == "action" {
				note("action="+string(value), set)
			}
		}
		note("minAvailable",
			slices.ContainsFunc(s.Cluster.Workloads, func(w scenario.Workload) bool { return w.MinAvailable > 0 }))
		if !some {
			found["nothing"]++
		}
		if slices.ContainsFunc(s.Script, func(step scenario.Step) bool { return step.Suspend != nil }) {
			found["suspend"]++
		}
	}
	require.Greater(t, found["nothing"], worlds*6/10)
	for _, what := range []string{
		"action=evict", "action=evict-then-delete", "budget-overall", "budget-per-node", "budget-per-namespace",
		"low-priority-first", "eviction-mode", "spare-daemonset-pods", "minAvailable", "suspend",
	} {
		assert.Greater(t, found[what], worlds/25, what)
	}
	assert.Positive(t, found["action=dry-run"])
}
