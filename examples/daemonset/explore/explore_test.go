package explore

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/daemonset/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

var flags = seeds.Register(flag.CommandLine, uint64(seeds.Sized(25, 2500)))

type finding = seeds.Finding[invariant.Violation]

// violates reports whether an invariant is among those that the finding
// violates. What never rests is not quiet.
func violates(f finding, what invariant.Invariant) bool {
	return f.Err != nil && what == invariant.Quiet ||
		slices.ContainsFunc(f.Violations, func(v invariant.Violation) bool { return v.Invariant == what })
}

func nameOf(v invariant.Violation) string { return string(v.Invariant) }

func runSeed(seed uint64) ([]invariant.Violation, error) { return Run(Generate(seed)) }

// TestRandomWorlds runs random worlds in which everything goes wrong that can,
// and wants every invariant to hold in each.
func TestRandomWorlds(t *testing.T) {
	if what := invariant.Invariant(flags.Until); what != "" {
		wanted := func(f finding) bool { return violates(f, what) }
		require.NoError(t, seeds.Search(flags.First, flags.Seeds, runSeed, wanted, nameOf), what)
		return
	}
	const shown = 3
	failed := seeds.Explore(flags.First, flags.Seeds, runSeed, seeds.All)
	for _, found := range failed[:min(shown, len(failed))] {
		show(t, found)
	}
	if len(failed) > 0 {
		t.Errorf("%d of %d worlds fail: %v", len(failed), flags.Seeds, seeds.Count(failed, nameOf))
	}
}

// show shows a failing seed with as few steps as it can have.
func show(t *testing.T, found finding) {
	t.Helper()
	again := fmt.Sprintf("Run it again with -args -seeds 1 -first %d", found.Seed)
	if found.Err != nil {
		t.Errorf("seed %d: %v\n%s", found.Seed, found.Err, again)
		return
	}
	what := found.Violations[0].Invariant
	small := Shrink(Generate(found.Seed), func(s *simulation.Scenario) bool {
		violations, err := Run(s)
		return err == nil && violates(finding{Violations: violations}, what)
	}, 300)
	violations, err := Run(small)
	require.NoError(t, err)
	t.Errorf("seed %d: %v\n\nWith as few steps as it can have, %d nodes:\n%s\n%s\n%s", found.Seed, found.Violations[0],
		small.Nodes, lines(small.Steps), lines(violations), again)
}

func lines[T fmt.Stringer](all []T) string {
	var text strings.Builder
	for _, one := range all {
		text.WriteString("  " + one.String() + "\n")
	}
	return text.String()
}
