//go:build !race

package mutations

import (
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/mutant"
)

// repository is its root, seen from this folder.
const repository = "../../.."

func TestMain(m *testing.M) { os.Exit(mutant.Main(m.Run)) }

// TestMutationsAreCaught puts each of the deliberate faults into the kubelet,
// one at a time. It wants the random worlds to show it, by the invariant that
// is there for it, and says after how many seeds. By default it puts in every
// eighth, because each is a build, and all if LIFECYCLE_TESTS=all.
func TestMutationsAreCaught(t *testing.T) {
	every := sized(8, 1)
	for i, m := range mutations {
		if i%every != 0 {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			program, err := m.Build(t.Context(), repository, "../explore", t.TempDir())
			require.NoError(t, err)
			seed, err := mutant.FindSeed(t.Context(), program, "-test.run", "^TestRandomWorlds$",
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
	names := make(map[string]bool)
	for _, m := range mutations {
		require.False(t, names[m.Name], m.Name)
		names[m.Name] = true
		_, mutated, err := m.Source(repository)
		require.NoError(t, err)
		_, err = parser.ParseFile(token.NewFileSet(), m.File, mutated, parser.SkipObjectResolution)
		require.NoError(t, err, m.Name)
	}
	require.GreaterOrEqual(t, len(mutations), 16)
}
