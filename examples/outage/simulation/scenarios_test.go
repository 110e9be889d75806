package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenarios"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

// What control-plane-pause says: no lease is renewed for five minutes, but only
// the API server is to blame for that. Nothing is done to any node or pod.
func TestH4NothingIsDoneAfterAnOutageOfTheAPIServer(t *testing.T) {
	runs := uint64(seeds.Sized(4, 20))
	for seed := range runs {
		description, err := scenarios.Read("control-plane-pause")
		require.NoError(t, err)
		description.Seed = seed
		s, err := New(description)
		require.NoError(t, err)
		d := &diary{world: s.World(), tainted: map[string]time.Duration{}, evicted: map[string]time.Duration{}}
		s.World().Watch(d)
		s.Run()
		require.Empty(t, d.writes, "seed %d", seed)
	}
}
