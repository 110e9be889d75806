package rollout

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nodes that have changed are each listed once, whatever comes and goes, and
// nothing is kept of one that went.
func TestStaleNodesAreListedOnce(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	var list staleNodes
	var want []*nodeState
	nodes := make([]*nodeState, 20)
	for i := range nodes {
		nodes[i] = &nodeState{}
	}
	for range 10_000 {
		n := nodes[dice.IntN(len(nodes))]
		if next := list.any(); dice.IntN(3) == 0 && next != nil {
			n = next
		}
		if listed := slices.Index(want, n); dice.IntN(2) == 0 {
			list.remove(n)
			if listed >= 0 {
				want = slices.Delete(want, listed, listed+1)
			}
		} else {
			list.add(n)
			if listed < 0 {
				want = append(want, n)
			}
		}
		require.ElementsMatch(t, want, list)
		require.Equal(t, len(want) == 0, list.any() == nil)
		for _, rest := range list[len(list):cap(list)] {
			require.Nil(t, rest)
		}
	}
}
