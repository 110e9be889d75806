package virtualtime

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Some of the times are equal, and some are beyond the wheel, or on it only
// after it has turned.
func TestAgendaIsInOrderOfTimeThenOfPlanning(t *testing.T) {
	const slot = time.Duration(1) << slotBits
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 2000 {
		var a agenda
		var want []event
		var now time.Duration
		within := []time.Duration{10, 5 * slot, slots * slot, 5 * slots * slot}[round%4]
		for i := range uint64(random.IntN(60)) {
			e := event{at: now + time.Duration(random.Int64N(int64(within))), sequence: i}
			a.push(e)
			want = append(want, e)
			if random.IntN(3) == 0 { // take the first one out in between
				first := slices.MinFunc(want, compare)
				require.Equal(t, first, *a.first())
				require.Equal(t, first, a.pop())
				now = first.at
				want = slices.DeleteFunc(want, func(e event) bool { return e.sequence == first.sequence })
			}
		}
		slices.SortFunc(want, compare)
		for i := range want {
			require.Equal(t, want[i], *a.first())
			require.Equal(t, want[i], a.pop())
		}
		require.Nil(t, a.first())
		require.Zero(t, a.onWheel)
	}
}

func compare(a, b event) int {
	if a.before(&b) {
		return -1
	}
	return 1
}

// What has come to pass is held no longer.
func TestAgendaForgetsWhatItHasHandedOut(t *testing.T) {
	var a agenda
	for i := range uint64(100) {
		a.push(event{at: time.Duration(i) << slotBits, sequence: i, do: func() {}})
	}
	for a.first() != nil {
		a.pop()
	}
	require.Len(t, a.pool, 99, "the first slot is not on the wheel")
	for i := range a.pool {
		require.Nil(t, a.pool[i].event.do)
	}
	for _, heap := range []eventHeap{a.next, a.far} {
		for _, e := range heap[:cap(heap)] {
			require.Nil(t, e.do)
		}
	}
	for i := range uint64(99) {
		a.push(event{at: time.Duration(1000+i) << slotBits, do: func() {}})
	}
	require.Len(t, a.pool, 99, "places are used again")
}
