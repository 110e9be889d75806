package model

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFirstInIsFirstOut(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var q fifo[int]
		var want []int
		for i := range random.IntN(200) {
			q.push(i)
			want = append(want, i)
			if random.IntN(3) > 0 {
				continue
			}
			require.Equal(t, want[0], q.pop())
			want = want[1:]
			require.Equal(t, len(want), q.len())
		}
		for _, i := range want {
			require.Equal(t, i, q.pop())
		}
		require.Zero(t, q.len())
	}
}

// What an event plans for its own time happens then, after all that was planned
// for that time before it came.
func TestWhatIsPlannedForNowIsLast(t *testing.T) {
	w := New(Config{Seed: 1})
	var order []string
	note := func(name string) func() { return func() { order = append(order, name) } }
	w.At(time.Second, func() {
		note("first")()
		w.After(0, func() {
			note("third")()
			w.At(0, note("fifth")) // the past is now
		})
		w.After(0, note("fourth"))
		w.After(1, note("later"))
	})
	w.At(time.Second, note("second"))
	for w.Step(time.Second) {
		require.Equal(t, time.Second, w.Now())
	}
	require.Equal(t, []string{"first", "second", "third", "fourth", "fifth"}, order)
	require.True(t, w.Step(time.Minute))
	require.Equal(t, "later", order[5])

	w.After(0, note("now"))
	require.False(t, w.Step(0), "it is later than that")
	require.True(t, w.Step(w.Now()))
	require.Equal(t, "now", order[6])
}
