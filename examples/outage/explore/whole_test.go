package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

// wholeWorlds is how many whole clusters a test run has.
const (
	wholeWorlds    = 10
	allWholeWorlds = 500
)

// Node lifecycle, taint eviction, a DaemonSet that is rolled out and, in some
// worlds, hollow kubelets share a cluster in which much goes wrong. Each does
// what it does alone, and pods that belong on a node come back.
func TestWholeClusters(t *testing.T) {
	worlds := uint64(wholeWorlds)
	if seeds.Full() {
		worlds = allWholeWorlds
	}
	for _, found := range seeds.Explore(1, worlds, RunWhole, seeds.All) {
		require.NoError(t, found.Err, "seed %d", found.Seed)
		t.Errorf("seed %d: %s", found.Seed, found.Violations[0])
	}
}
