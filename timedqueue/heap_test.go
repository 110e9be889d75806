package timedqueue

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A ball knows its index in a heap.
type ball struct{ index int32 }

func (b *ball) setIndex(i int32) { b.index = i }

// C3: a heap of many grows and shrinks a chunk at a time, and stays a heap.
func TestC3HeapGrowsAndShrinksAChunkAtATime(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 0))
	h := heap[*ball]{before: func(_, _ *ball) bool { return false }}
	check := func() {
		require.NoError(t, ordered("the heap", &h, func(b *ball) int32 { return b.index }))
		require.LessOrEqual(t, cap(h.places), 2*chunk)
		require.LessOrEqual(t, len(h.more), max(h.len()-1, 0)/chunk+2)
		for _, c := range h.more {
			require.Equal(t, chunk, cap(c))
		}
	}
	var balls []*ball
	for range 3 {
		for h.len() < 3*chunk+5 {
			b := new(ball)
			h.push(random.Int64N(1000), b)
			balls = append(balls, b)
		}
		check()
		for h.len() > chunk-random.IntN(10) {
			i := random.IntN(len(balls))
			h.remove(int(balls[i].index))
			balls = slices.Delete(balls, i, i+1)
			if j := random.IntN(len(balls)); h.len()%7 == 0 {
				h.move(int(balls[j].index), random.Int64N(1000))
			}
			if h.len()%chunk < 3 {
				check()
			}
		}
		check()
	}
	for last := int64(0); h.len() > 0; {
		due := h.first().due
		require.GreaterOrEqual(t, due, last)
		last = due
		h.remove(0)
	}
	check()
	require.Nil(t, h.first())
	require.Empty(t, h.more)
	require.LessOrEqual(t, cap(h.places), keptWhenEmpty)
}

// C3: a queue copies few keys at once when it gives memory back.
func TestC3QueueShrinksWhenFewAreLeft(t *testing.T) {
	const most = 20 * mostCopied
	q := newTestQueue(t, unlimited)
	for i := range most {
		q.Add(strconv.Itoa(i), i, at(0))
	}
	for i := range most - mostCopied {
		q.Remove(strconv.Itoa(i))
	}
	require.Equal(t, most, q.entries.peak, "nothing was copied")
	q.Remove(strconv.Itoa(most - 1))
	require.Equal(t, mostCopied-1, q.entries.peak)
}

// Q7: what waits, rests, is acted on or was removed meanwhile is still known
// after a queue has given memory back.
func TestQ7QueueKeepsAllEntriesWhenItShrinks(t *testing.T) {
	for name, resting := range map[string]bool{"none rests": false, "one rests": true} {
		t.Run(name, func(t *testing.T) {
			q := newTestQueue(t, unlimited)
			const gone = 10_000
			for _, key := range []string{"removed", "acting"} {
				q.Add(key, 0, at(0))
			}
			removed, _ := q.Start(at(0))
			acting, _ := q.Start(at(0))
			q.Remove(removed.Key)
			q.Add("waiting", 0, at(1))
			if resting {
				q.Keep("resting", 0)
			}
			for i := range gone {
				q.Add(strconv.Itoa(i), i, at(2))
			}
			for i := range gone {
				q.Remove(strconv.Itoa(i))
			}
			require.Less(t, q.entries.peak, gone)
			require.Len(t, q.entries.byKey, 3+map[bool]int{true: 1}[resting])
			for key, e := range q.entries.byKey {
				require.Equal(t, key, e.key)
			}
			q.Add("removed", 1, at(3))
			q.Finish(at(0), removed, Result{Outcome: OutcomeDone})
			q.Finish(at(0), acting, Result{Outcome: OutcomeDone})
			item, waits := q.Get("removed")
			require.True(t, waits)
			require.Equal(t, 1, item.Value)
		})
	}
}
