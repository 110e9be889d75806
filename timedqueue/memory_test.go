package timedqueue

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
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
	entries := 1_000_000
	if testing.Short() {
		entries = 100_000
	}
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

// However a queue empties, it gives its memory back.
func TestQ7EmptiedQueueGivesItsMemoryBack(t *testing.T) {
	const entries = 40_000
	keys := manyKeys(entries)
	for name, use := range map[string]func(q *Queue[string, int]){
		"started and finished one by one": func(q *Queue[string, int]) {
			for _, key := range keys {
				q.Add(key, 0, at(0))
			}
			for item, ok := q.Start(at(0)); ok; item, ok = q.Start(at(0)) {
				q.Finish(at(0), item, Result{})
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
				q.Finish(at(0), item, Result{Outcome: Nothing})
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

func TestQ7EmptiedGroupGivesItsMemoryBack(t *testing.T) {
	const entries, queues = 40_000, 200 // each queue stays small
	keys := manyKeys(entries)
	for name, use := range map[string]func(g *Group[int, string, int]){
		"removed": func(g *Group[int, string, int]) {
			for _, key := range keys {
				g.Remove(key)
			}
		},
		"started and finished": func(g *Group[int, string, int]) {
			for item, ok := g.Start(at(0)); ok; item, ok = g.Start(at(0)) {
				g.Finish(at(0), item, Result{})
			}
		},
		"moved through one queue": func(g *Group[int, string, int]) {
			for _, to := range []int{queues, 0} {
				for _, key := range keys {
					g.Move(key, to)
				}
			}
			for i, key := range keys { // but for one
				if i > 0 {
					g.Move(key, i)
					g.Remove(key)
					g.Retire(i)
				}
			}
			g.Remove(keys[0])
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := NewGroup[int, string, int](unlimited, epoch)
			require.NoError(t, err)
			before := heapInUse()
			for i, key := range keys {
				g.Add(i%queues, key, i, at(0))
			}
			require.Less(t, (heapInUse()-before)/entries, 250, "bytes an entry")
			use(g)
			require.Zero(t, g.Len())
			for i := range queues + 1 {
				g.Retire(i)
			}
			require.Less(t, heapInUse()-before, 100_000)
			require.Empty(t, g.lanes)
		})
	}
	runtime.KeepAlive(keys)
}

func TestQ7QueueEmptiedByMovesGivesItsMemoryBack(t *testing.T) {
	const entries = 40_000
	keys := manyKeys(entries)
	fill := func(zone string) int {
		g := newTestGroup(t, unlimited)
		before := heapInUse()
		for i, key := range keys {
			g.Add(zone, key, i, at(0))
		}
		for _, key := range keys {
			g.Move(key, "here")
		}
		after := heapInUse()
		require.Equal(t, entries, g.LenOf("here"))
		return after - before
	}
	require.InEpsilon(t, fill("here"), fill("elsewhere"), 0.1)
	runtime.KeepAlive(keys)
}

func TestQ7QueueFilledByMovesGivesItsMemoryBack(t *testing.T) {
	const entries = 40_000
	keys := manyKeys(entries)
	g := newTestGroup(t, unlimited)
	g.Add("there", "stays", 0, at(0))
	g.SetLimit(at(0), "here", rate.Inf)
	before := heapInUse()
	for i, key := range keys {
		g.Add(keys[i%1000], key, i, at(0))
		g.Move(key, "here")
	}
	for _, key := range keys {
		g.Remove(key)
	}
	// What the group holds stays, since it is not empty: its key and its place.
	require.Less(t, (heapInUse()-before)/entries, 60)
	require.Empty(t, g.lanes["here"].queue.entries)
	g.Remove("stays")
	for _, zone := range keys[:1000] {
		g.Retire(zone)
	}
	require.Less(t, heapInUse()-before, 100_000)
	runtime.KeepAlive(keys)
}

func TestQ7OperationsAllocateNothing(t *testing.T) {
	keys := manyKeys(10_000)
	q := newTestQueue(t, Config{Limit: 1000, Burst: 1000})
	g := newTestGroup(t, Config{Limit: 1000, Burst: 1000})
	for i, key := range keys {
		q.Add(key, i, at(time.Duration(i)))
		g.Add([]string{"z1", "z2", "z3"}[i%3], key, i, at(time.Duration(i)))
	}
	now, i := at(time.Second), 0
	for name, operation := range map[string]func(){
		"queue": func() {
			key := keys[i*7919%len(keys)]
			q.Remove(key)
			q.Add(key, i, now)
			q.Reschedule(key, at(time.Duration(i)))
			q.Refresh(key, i)
			q.Get(key)
			q.SetLimit(now, rate.Limit(1000+i%2))
			if item, ok := q.Start(now); ok {
				q.Finish(now, item, Result{Outcome: Failed})
			}
			q.Next(now)
		},
		"group": func() {
			key := keys[i*7919%len(keys)]
			g.Remove(key)
			g.Add("z1", key, i, now)
			g.Move(key, "z2")
			g.Reschedule(key, at(time.Duration(i)))
			g.Get(key)
			g.SetLimit(now, "z3", rate.Limit(1000+i%2))
			if item, ok := g.Start(now); ok {
				g.Move(item.Key, "z3")
				g.Finish(now, item, Result{Outcome: Failed})
			}
			g.Next(now)
		},
	} {
		i = 0
		allocations := testing.AllocsPerRun(1, func() {
			for range 20_000 {
				i++
				now = now.Add(time.Millisecond)
				operation()
			}
		})
		require.LessOrEqual(t, allocations, 5.0, "%s, in 20,000 rounds", name) // the runtime itself may make some
	}
}

// counted counts how often an element is put somewhere in a heap.
type counted struct {
	index int32
	puts  *int
}

func (c *counted) setIndex(i int32) { c.index = i; *c.puts++ }

// Counting is exact where measuring time is not: an operation touches one place
// a level.
func TestQ7HeapMovesNoMoreThanItsHeight(t *testing.T) {
	for _, size := range []int{1, 5, 100, 10_000, 100_000} {
		var h heap[*counted]
		puts, most := 0, 0
		random := rand.New(rand.NewPCG(uint64(size), 1))
		elements := make([]*counted, size)
		for i := range elements {
			elements[i] = &counted{puts: &puts}
			puts = 0
			h.push(-int64(i), 0, elements[i]) // each becomes the first
			most = max(most, puts)
		}
		for i := range 10_000 {
			e := elements[random.IntN(size)]
			puts = 0
			h.move(int(e.index), int64(random.IntN(3*size)-2*size), uint64(i))
			most = max(most, puts)
			puts = 0
			h.remove(int(e.index))
			most = max(most, puts)
			puts = 0
			h.push(int64(random.IntN(3*size)-2*size), uint64(i), e)
			most = max(most, puts)
		}
		height := (bits.Len(uint(3*size+1)) + 1) / 2 // of a four-ary tree
		require.LessOrEqual(t, most, height+2, "%d elements", size)
		requireHeap(t, &h)
	}
}

// requireHeap looks whether every element stands behind its parent and knows its index.
func requireHeap(t *testing.T, h *heap[*counted]) {
	t.Helper()
	for i := range h.places {
		p := &h.places[i]
		if p.element.index != int32(i) || (i > 0 && p.before(&h.places[(i-1)/children])) {
			t.Fatalf("place %d of %d is wrong", i, len(h.places))
		}
	}
}
