package timedqueue

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// A key that changes its rank and its share at once leaves all shares in order.
// That holds also if the other share was removed and is used again.
func TestQ2SetValueToARemovedShareKeepsTheOrderOfShares(t *testing.T) {
	const shares = 40
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 2))
		less := func(a, b node) bool { return a.rank < b.rank }
		q, err := NewQueue(zoneConfig{Budgets: []zoneBudget{perZone(1, 5)}, Less: less}, epoch)
		require.NoError(t, err)
		for i := range shares {
			zone := fmt.Sprint("z", i)
			q.SetLimit(at(0), "zone", zone, 0)
			q.Add(zone, node{zone: zone, rank: random.IntN(1000)}, at(0))
		}
		mustHold(t, q, at(0)) // all wait in their shares
		for i := range shares {
			q.SetLimit(at(0), "zone", fmt.Sprint("z", i), rate.Inf)
		}
		for range 20 {
			to := fmt.Sprint("z", random.IntN(shares))
			q.RemoveShare(at(0), "zone", to)
			q.SetValue(fmt.Sprint("z", random.IntN(shares)), node{zone: to, rank: random.IntN(1000)})
			require.NoError(t, soundness(q), "seed %d", seed)
		}
	}
}
