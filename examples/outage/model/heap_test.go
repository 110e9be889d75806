package model

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAgendaIsInOrderOfTimeThenOfPlanning(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var a agenda
		var want []event
		for i := range uint64(random.IntN(60)) {
			e := event{at: time.Duration(random.IntN(10)), sequence: i}
			a.push(e)
			want = append(want, e)
			if random.IntN(3) == 0 { // take the first one out in between
				first := slices.MinFunc(want, compare)
				require.Equal(t, first.sequence, a.pop().sequence)
				want = slices.DeleteFunc(want, func(e event) bool { return e.sequence == first.sequence })
			}
		}
		slices.SortFunc(want, compare)
		for i := range want {
			require.Equal(t, want[i].sequence, a.pop().sequence)
		}
		require.Empty(t, a)
	}
}

func compare(a, b event) int {
	if a.before(&b) {
		return -1
	}
	return 1
}
