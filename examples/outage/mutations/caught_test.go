//go:build !race

package mutations

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/mutant"
)

// repository is its root, seen from this folder.
const repository = "../../.."

func TestMain(m *testing.M) { os.Exit(mutant.Main(m.Run)) }

// TestMutationsAreCaught puts each of the deliberate faults into the library,
// one at a time. It wants the random worlds to show it, by the invariant that
// is there for it, and says after how many seeds. By default it puts in one,
// because each is a build, and all if LIFECYCLE_TESTS=all.
func TestMutationsAreCaught(t *testing.T) {
	for _, m := range all()[:sized(1, len(all()))] {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			program, err := m.fault().Build(t.Context(), repository, "../explore", t.TempDir())
			require.NoError(t, err)
			first := strconv.FormatUint(max(m.first, 1), 10)
			arguments := append([]string{"-until", string(m.caughtBy), "-first", first}, m.in.arguments()...)
			seed, err := mutant.FindSeed(t.Context(), program, arguments...)
			require.NoError(t, err, "by %q", m.caughtBy)
			t.Logf("caught by %q with seed %s", m.caughtBy, seed)
		})
	}
}

func all() []mutation {
	return slices.Concat(ofHalts, mutations, ofEvictions, ofMassFailure, ofClocks, ofPolicies)
}

// Each of the faults can be put in, also those that are not tried, and the
// README says how many there are.
func TestMutationsFitTheSources(t *testing.T) {
	names := make(map[string]bool)
	for _, m := range all() {
		require.False(t, names[m.name], m.name)
		names[m.name] = true
		_, mutated, err := m.fault().Source(repository)
		require.NoError(t, err)
		_, err = parser.ParseFile(token.NewFileSet(), m.file, mutated, parser.SkipObjectResolution)
		require.NoError(t, err, m.name)
	}
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
	case ordinary:
	}
	return []string{"-test.run", "^TestRandomWorlds$", "-seeds", "2000"}
}

// fault returns what is to be put in.
func (m *mutation) fault() *mutant.Mutation {
	return &mutant.Mutation{Name: m.name, File: m.file, Old: m.old, With: m.with}
}
