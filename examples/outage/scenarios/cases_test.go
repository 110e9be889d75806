package scenarios_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

// Cases of more than manyNodes take seconds each, and run if
// LIFECYCLE_TESTS=all. The others run manySeeds then.
const (
	manyNodes = 500
	manySeeds = 20
)

// Cases are mass failures at their full size, with the default flags: cases in
// which controllers of this kind, this one among them, were seen to decide too
// late, too early or not at all. In each of them what it expects comes out, and
// every invariant holds.
func TestWhatEachCaseExpectsComesOut(t *testing.T) {
	files, err := filepath.Glob("../cases/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			s, err := scenario.Read(file, text)
			require.NoError(t, err)
			require.Equal(t, filepath.Base(file), s.Name+".yaml", "the file is named after its case")
			require.NotNil(t, s.Expect)
			runs := seeds.Sized(1, manySeeds)
			if nodes(s) > manyNodes {
				if !seeds.Full() {
					t.Skipf("%d nodes: LIFECYCLE_TESTS=all runs it", nodes(s))
				}
				runs = 1
			}
			for s.Seed = 1; s.Seed <= uint64(runs); s.Seed++ {
				texts, err := failures(s)
				require.NoError(t, err)
				require.Empty(t, texts)
			}
		})
	}
}

func nodes(s *scenario.Scenario) (sum int) {
	for _, zone := range s.Cluster.Zones {
		sum += zone.Nodes
	}
	return sum
}
