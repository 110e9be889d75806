package explore

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

var flags = seeds.Register(flag.CommandLine, uint64(seeds.Sized(20, 2000)))

type finding = seeds.Finding[judge.Violation]

// drawn returns what runs the worlds of a generator by their seeds.
func drawn(generate func(uint64) *scenario.Scenario) func(seed uint64) ([]judge.Violation, error) {
	return func(seed uint64) ([]judge.Violation, error) { return Run(generate(seed)) }
}

func nameOf(v judge.Violation) string { return string(v.Invariant) }

// violated reports whether an invariant is among those that the finding
// violates.
func violated(f finding, what judge.Invariant) bool {
	return slices.ContainsFunc(f.Violations, func(v judge.Violation) bool { return v.Invariant == what })
}

// TestRandomWorlds runs random worlds in which everything goes wrong that can,
// and wants every invariant to hold in each.
func TestRandomWorlds(t *testing.T) { wantsAllToHold(t, Generate, flags.Seeds) }

// show shows a failing seed as small as it can be made.
func show(t *testing.T, failing *scenario.Scenario, found finding) {
	t.Helper()
	small := Shrink(failing, violates(found.Violations[0].Invariant), 500)
	violations, err := Run(small)
	require.NoError(t, err)
	text, err := scenario.Write(small)
	require.NoError(t, err)
	t.Errorf("seed %d: %v\n\nAs small as it can be made:\n\n%s\n%s\nRun it again with -args -first %d, for one seed",
		found.Seed, found.Violations[0], text, list(violations), found.Seed)
}

func list(violations []judge.Violation) string {
	text := ""
	for _, v := range violations {
		text += fmt.Sprintln(v)
	}
	return text
}

// violates returns a function that reports whether a scenario violates an
// invariant: the same one, or a smaller scenario would soon show another fault.
func violates(what judge.Invariant) func(*scenario.Scenario) bool {
	return func(s *scenario.Scenario) bool {
		violations, err := Run(s)
		return err == nil && violated(finding{Violations: violations}, what)
	}
}

func TestEveryGeneratedScenarioIsValid(t *testing.T) {
	for seed := range uint64(seeds.Sized(200, 5000)) {
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
		if s.Cluster.Kubelets {
			found["kubelets"]++
		}
	}
	require.Greater(t, found["nothing"], worlds*6/10)
	for _, what := range []string{
		"action=evict", "action=evict-then-delete", "budget-overall", "budget-per-node", "budget-per-namespace",
		"low-priority-first", "eviction-mode", "spare-daemonset-pods", "minAvailable", "suspend", "kubelets",
	} {
		assert.Greater(t, found[what], worlds/25, what)
	}
	assert.Positive(t, found["action=dry-run"])
}
