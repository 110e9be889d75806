package timedqueue

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// heapInUse is what is reachable, in bytes.
func heapInUse() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // the first only finds what finalizers and pools still hold
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

func manyKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("node-%07d", i)
	}
	return keys
}

func TestQ7MemoryPerEntryIsBounded(t *testing.T) {
	entries := sized(100_000, 1_000_000)
	keys := manyKeys(entries)
	q := newTestQueue(t, unlimited)
	before := heapInUse()
	for i, key := range keys {
		q.Add(key, i, at(time.Duration(i*7919%entries)*time.Second))
	}
	each := (heapInUse() - before) / entries
	t.Logf("%d bytes an entry, of which 40 are its key twice and its value", each)
	require.LessOrEqual(t, each, 150)

	for i, key := range keys { // churn costs nothing more
		q.Remove(key)
		q.Add(key, i, at(time.Duration(i)))
	}
	require.LessOrEqual(t, (heapInUse()-before)/entries, 150)

	for _, key := range keys {
		q.Remove(key)
	}
	require.Less(t, heapInUse()-before, 100_000, "an emptied queue gives its memory back")
	requireNothingLeft(t, q)
	runtime.KeepAlive(keys)
}

// A queue releases its memory in whichever way it empties.
func TestQ7EmptiedQueueGivesItsMemoryBack(t *testing.T) {
	const entries = 40_000
	keys := manyKeys(entries)
	for name, use := range map[string]func(q *Queue[string, int]){
		"started and finished one by one": func(q *Queue[string, int]) {
			for _, key := range keys {
				q.Add(key, 0, at(0))
			}
			for item, ok := q.Start(at(0)); ok; item, ok = q.Start(at(0)) {
				q.Finish(at(0), item, done)
			}
		},
		"all acting at a time": func(q *Queue[string, int]) {
			var items []Item[string, int]
			for _, key := range keys {
				q.Add(key, 0, at(0))
				item, _ := q.Start(at(0))
				items = append(items, item)
			}
			for _, item := range items {
				q.Finish(at(0), item, skipped)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := newTestQueue(t, unlimited)
			before := heapInUse()
			use(q)
			require.Less(t, heapInUse()-before, 100_000)
			requireNothingLeft(t, q)
		})
	}
	runtime.KeepAlive(keys)
}

// A queue that shrinks to a few keys releases its memory, too.
func TestQ7QueueThatShrinksGivesItsMemoryBack(t *testing.T) {
	const entries, stay = 100_000, 100
	keys := manyKeys(entries)
	q := newTestQueue(t, limited(1e9, 1e9))
	before := heapInUse()
	for i, key := range keys {
		q.Add(key, i, at(0))
	}
	for _, key := range keys[stay:] {
		q.Remove(key)
	}
	left := heapInUse() - before
	t.Logf("%d bytes are left of %d keys", left, q.Len())
	require.Less(t, left, 500_000)
	require.Len(t, startAll(q, at(0)), stay)
	runtime.KeepAlive(keys)
}

// All items are due and wait for a share: then an entry takes the most memory.
func TestQ7MemoryPerEntryInAShareIsBounded(t *testing.T) {
	entries := sized(100_000, 1_000_000)
	keys := manyKeys(entries)
	config := held(1)
	config.Budgets[0].ShareOf = func(string, int) string { return "" }
	q := newTestQueue(t, config)
	before := heapInUse()
	for i, key := range keys {
		q.Add(key, i, at(time.Duration(i*7919%entries)))
	}
	for range entries/mostMoves + 1 {
		mustHold(t, q, at(time.Hour))
	}
	each := (heapInUse() - before) / entries
	t.Logf("%d bytes an entry that is due and held by a share, 40 of them key and value", each)
	require.LessOrEqual(t, each, 150)
	for _, key := range keys {
		q.Remove(key)
	}
	require.Less(t, heapInUse()-before, 100_000)
	requireNothingLeft(t, q)
	runtime.KeepAlive(keys)
}

// counted counts how often an element is moved in a heap.
type counted struct {
	index int32
	puts  *int
}

func (c *counted) setIndex(i int32) { c.index = i; *c.puts++ }

// Counts are exact where times are not: an operation touches one place a level.
func TestQ7HeapMovesNoMoreThanItsHeight(t *testing.T) {
	for _, size := range []int{1, 5, 100, 10_000, 100_000} {
		h := heap[*counted]{before: func(_, _ *counted) bool { return false }}
		puts, most := 0, 0
		random := rand.New(rand.NewPCG(uint64(size), 1))
		elements := make([]*counted, size)
		for i := range elements {
			elements[i] = &counted{puts: &puts}
			puts = 0
			h.push(-int64(i), elements[i]) // each becomes the first
			most = max(most, puts)
		}
		for range 10_000 {
			e := elements[random.IntN(size)]
			puts = 0
			h.move(int(e.index), int64(random.IntN(3*size)-2*size))
			most = max(most, puts)
			puts = 0
			h.remove(int(e.index))
			most = max(most, puts)
			puts = 0
			h.push(int64(random.IntN(3*size)-2*size), e)
			most = max(most, puts)
		}
		height := (bits.Len(uint(3*size+1)) + 1) / 2 // of a four-ary tree
		require.LessOrEqual(t, most, height+2, "%d elements", size)
		require.NoError(t, ordered("heap", &h, func(c *counted) int32 { return c.index }))
	}
}
