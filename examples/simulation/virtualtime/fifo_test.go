package virtualtime

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFirstInIsFirstOut(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var q FIFO[int]
		var want []int
		for i := range random.IntN(200) {
			q.Push(i)
			want = append(want, i)
			if random.IntN(3) > 0 {
				continue
			}
			require.Equal(t, want[0], q.Pop())
			want = want[1:]
			require.Equal(t, len(want), q.Len())
		}
		for _, i := range want {
			require.Equal(t, i, q.Pop())
		}
		require.Zero(t, q.Len())
	}
}
