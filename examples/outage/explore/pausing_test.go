package explore

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

var pausingSeeds = flag.Uint64("pausing", uint64(seeds.Sized(10, 100)),
	"how many worlds to run whose flags pause the cluster")

// TestPausingWorlds runs random worlds whose flags pause the cluster, and wants
// every invariant to hold in each.
func TestPausingWorlds(t *testing.T) { wantsAllToHold(t, GeneratePausing, *pausingSeeds) }

func TestEveryPausingScenarioIsValid(t *testing.T) {
	for seed := range uint64(1000) {
		s := GeneratePausing(seed)
		require.NoError(t, s.Validate(), "seed %d", seed)
		require.Equal(t, s, GeneratePausing(seed))
	}
}
