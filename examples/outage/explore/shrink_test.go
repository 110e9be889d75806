package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

func TestShrinkKeepsOnlyWhatIsNeededToFail(t *testing.T) {
	// A scenario that fails if there is a crash and a zone of more than two nodes.
	fails := func(s *scenario.Scenario) bool {
		crash, large := false, false
		for i := range s.Script {
			crash = crash || s.Script[i].Crash != nil
		}
		for _, zone := range s.Cluster.Zones {
			large = large || zone.Nodes > 2
		}
		return crash && large
	}
	shrunk := 0
	for seed := range uint64(200) {
		failing := Generate(seed)
		if !fails(failing) {
			continue
		}
		shrunk++
		small := Shrink(failing, fails, 1000)
		require.NoError(t, small.Validate())
		require.True(t, fails(small))
		require.Len(t, small.Script, 1, "seed %d", seed)
		require.Len(t, small.Cluster.Zones, 1)
		require.Equal(t, 3, small.Cluster.Zones[0].Nodes)
		require.Empty(t, small.Cluster.Workloads)
		require.Equal(t, 1, small.Controller.Replicas)
		require.True(t, fails(failing), "what was given stays as it was")
	}
	require.Greater(t, shrunk, 20)
}

func TestShrinkStopsAfterSoManyTries(t *testing.T) {
	tries := 0
	Shrink(Generate(1), func(*scenario.Scenario) bool { tries++; return true }, 7)
	require.Equal(t, 7, tries)
}
