//go:build !race

package mutations

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
// there for it, and says after how many seeds. [TestSchedulesShowFaults] has
// those that only small worlds show. It runs if LIFECYCLE_TESTS=all,
// because it builds.
func TestMutationsAreCaught(t *testing.T) {
	if !seeds.Full() {
		t.Skip("LIFECYCLE_TESTS=all builds the mutants and runs them")
	}
	program, err := mutant.Build(t.Context(), repository, "../explore", t.TempDir(), faults())
	require.NoError(t, err)
	for _, m := range all() {
		if m.in == small {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			first := strconv.FormatUint(max(m.first, 1), 10)
			arguments := append([]string{"-until", string(m.caughtBy), "-first", first}, m.in.arguments()...)
			seed, err := program.FindSeed(t.Context(), m.name, arguments...)
			require.NoError(t, err, "by %q", m.caughtBy)
			t.Logf("caught by %q with seed %s", m.caughtBy, seed)
		})
	}
}

func all() []mutation {
	return slices.Concat(ofHalts, mutations, ofEvictions, ofMassFailure, ofClocks, ofPolicies)
}

func faults() []mutant.Mutation {
	var faults []mutant.Mutation
	for _, m := range all() {
		faults = append(faults, mutant.Mutation{Name: m.name, File: m.file, Old: m.old, With: m.with})
	}
	return faults
}

// Each of the faults can be put in, also those that are not tried, and the
// README says how many there are.
func TestMutationsFitTheSources(t *testing.T) {
	require.NoError(t, mutant.Fit(repository, faults()))
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	require.NoError(t, err)
	counts := regexp.MustCompile(`all (\d+)\s+injected\s+faults`).FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, counts)
	for _, count := range counts {
		require.Equal(t, strconv.Itoa(len(all())), count[1], "README says %q", count[0])
	}
}

// worlds are the random worlds that show a fault.
type worlds string

const (
	// ordinary worlds are those of explore.Generate.
	ordinary worlds = ""
	// hostile worlds have kubelets and proxies that lie.
	hostile worlds = "hostile"
	// starved worlds have thousands of nodes and few calls.
	starved worlds = "starved"
	// pausing worlds have flags that pause the cluster.
	pausing worlds = "pausing"
	// small worlds are those of package exhaustive. Random ones do not show the
	// fault.
	small worlds = "small"
)

// arguments have package explore run such worlds: of ordinary ones as many as
// each run of the tests has.
func (w worlds) arguments() []string {
	switch w {
	case hostile:
		return []string{"-test.run", "^TestHostileWorlds$", "-hostile", "1000"}
	case starved:
		return []string{"-test.run", "^TestStarvedWorlds$", "-starved", "20"}
	case pausing:
		return []string{"-test.run", "^TestPausingWorlds$", "-pausing", "1000"}
	case ordinary, small:
	}
	return []string{"-test.run", "^TestRandomWorlds$", "-seeds", "2000"}
}
