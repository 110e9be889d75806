//go:build !race

package mutations

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/simulation/mutant"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

// repository is its root, seen from this folder.
const repository = "../../.."

// TestMutationsAreCaught has each of the deliberate faults in the kubelet, one
// at a time. It wants the random worlds to show it, by the invariant that is
// there for it, and says after how many seeds. It runs if
// LIFECYCLE_TESTS=all, because it builds.
func TestMutationsAreCaught(t *testing.T) {
	if !seeds.Full() {
		t.Skip("LIFECYCLE_TESTS=all builds the mutants and runs them")
	}
	program, err := mutant.Build(t.Context(), repository, "../explore", t.TempDir(), faults())
	require.NoError(t, err)
	for _, m := range mutations {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			seed, err := program.FindSeed(t.Context(), m.Name, "-test.run", "^TestRandomWorlds$",
				"-until", string(m.caughtBy), "-seeds", strconv.Itoa(mostSeeds))
			require.NoError(t, err, "by %q", m.caughtBy)
			t.Logf("caught by %q with seed %s", m.caughtBy, seed)
		})
	}
}

// mostSeeds is how many worlds may pass before a fault is caught.
const mostSeeds = 490

// Each of the faults can be put in, also those that are not tried.
func TestMutationsFitTheSources(t *testing.T) {
	require.NoError(t, mutant.Fit(repository, faults()))
	require.GreaterOrEqual(t, len(mutations), 16)
}

func faults() []mutant.Mutation {
	var all []mutant.Mutation
	for _, m := range mutations {
		all = append(all, m.Mutation)
	}
	return all
}
