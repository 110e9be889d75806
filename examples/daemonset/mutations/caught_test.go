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

// TestMutationsAreCaught has each of the deliberate faults in the library, one
// at a time. It wants the random worlds to show it, by the invariant that is
// there for it, and says after how many seeds. It runs if LIFECYCLE_TESTS=all,
// because it builds.
func TestMutationsAreCaught(t *testing.T) {
	if !seeds.Full() {
		t.Skip("LIFECYCLE_TESTS=all builds the mutants and runs them")
	}
	worlds, err := mutant.Build(t.Context(), repository, "../explore", t.TempDir(), faults())
	require.NoError(t, err)
	units, err := mutant.Build(t.Context(), repository, "../controller", t.TempDir(), faults())
	require.NoError(t, err)
	for _, m := range mutations {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			if m.unit != "" {
				require.NoError(t, units.Fails(t.Context(), m.Name, "-test.run", "^"+m.unit+"$"))
				return
			}
			seed, err := worlds.FindSeed(t.Context(), m.Name, "-test.run", "^TestRandomWorlds$",
				"-until", string(m.caughtBy), "-seeds", "2500", "-first", strconv.FormatUint(m.first, 10))
			require.NoError(t, err, "by %q", m.caughtBy)
			t.Logf("caught by %q with seed %s", m.caughtBy, seed)
		})
	}
}

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
