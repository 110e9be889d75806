//go:build !race

package mutations

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/simulation/mutant"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

// byOneDeviation are faults that package exhaustive shows with one deviation at
// most, among them narrow races and work that is left undone.
var byOneDeviation = []string{
	"taints are written over what others have written",
	"what the live read of a lease says is ignored",
	"an eviction does not say which pod it is for",
	"a pod's name is taken for its identity",
	"a mark that has become moot stays",
	"an eviction that has succeeded is forgotten",
	"taints from before the start evict no pod",
	"a call whose answer is lost counts as an eviction",
}

// Small worlds in every interleaving show faults that random ones show.
func TestSchedulesShowFaults(t *testing.T) {
	if !seeds.Full() {
		t.Skip("LIFECYCLE_TESTS=all builds the mutants and runs them")
	}
	program, err := mutant.Build(t.Context(), repository, "../exhaustive", t.TempDir(), faults())
	require.NoError(t, err)
	for _, name := range byOneDeviation {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, program.Fails(t.Context(), name, "-test.run", "^TestEverySchedule$", "-deviations", "1"))
		})
	}
}

// A fault that random worlds do not show is one that small worlds show.
func TestFaultsOfSmallWorldsAreTried(t *testing.T) {
	for _, m := range all() {
		if m.in == small {
			require.Contains(t, byOneDeviation, m.name)
		}
	}
}
