package timedqueue

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// What a benchmark chooses from is made before it starts, so that the loop
// measures the queue and neither the generator nor the formatting of keys.
const choices = 1 << 16

type benchChoices struct {
	keys []string
	key  [choices]uint32
	due  [choices]time.Time
}

func newBenchChoices(waiting int) *benchChoices {
	random := rand.New(rand.NewPCG(1, 2))
	c := &benchChoices{keys: manyKeys(waiting)}
	for i := range choices {
		c.key[i] = random.Uint32N(uint32(waiting))
		c.due[i] = at(time.Duration(random.Int64N(int64(time.Hour))))
	}
	return c
}

func (c *benchChoices) of(i int) (string, time.Time) {
	return c.keys[c.key[i%choices]], c.due[i%choices]
}

var benchSizes = []int{1_000, 10_000, 100_000, 1_000_000}

func filledQueue(b *testing.B, c *benchChoices) *Queue[string, int] {
	q := newTestQueue(b, Config{Limit: rate.Inf})
	for i, key := range c.keys {
		q.Add(key, i, c.due[i%choices])
	}
	return q
}

// The keys that wait are removed and added again in turn, due after all others:
// what a pass of kube-controller-manager over the nodes that are not ready does.
func BenchmarkRemoveAndReAdd(b *testing.B) {
	for _, waiting := range benchSizes {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			keys := manyKeys(waiting)
			q := newTestQueue(b, Config{Limit: rate.Inf})
			for i, key := range keys {
				q.Add(key, i, at(time.Duration(i)))
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				key := keys[i%waiting]
				q.Remove(key)
				q.Add(key, i, at(time.Duration(waiting+i)))
				i++
			}
		})
	}
}

// Any key is removed and added again, due at any time. With many waiting that
// touches memory all over the place, and so measures the machine's more than the
// queue.
func BenchmarkRemoveAndReAddAtRandom(b *testing.B) {
	for _, waiting := range benchSizes {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			c := newBenchChoices(waiting)
			q := filledQueue(b, c)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				key, due := c.of(i)
				q.Remove(key)
				q.Add(key, i, due)
				i++
			}
		})
	}
}

func BenchmarkReschedule(b *testing.B) {
	for _, waiting := range benchSizes {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			c := newBenchChoices(waiting)
			q := filledQueue(b, c)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				q.Reschedule(c.of(i))
				i++
			}
		})
	}
}

// One operation fills a queue with 10,000 items that are due and drains it.
// The time of the filling is not measured; upstream's queue takes 4.6 ms and
// 10,170 allocations for the draining.
func BenchmarkDrain10000(b *testing.B) {
	const items = 10_000
	keys := manyKeys(items)
	q := newTestQueue(b, Config{Limit: rate.Inf})
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for i, key := range keys {
			q.Add(key, i, at(time.Duration(i*7919%items)))
		}
		b.StartTimer()
		drained := 0
		for item, ok := q.Start(at(time.Second)); ok; item, ok = q.Start(at(time.Second)) {
			q.Finish(at(time.Second), item, Result{})
			drained++
		}
		if drained != items {
			b.Fatalf("drained %d", drained)
		}
	}
}

const benchGroups = 10

func filledGroup(b *testing.B, c *benchChoices) *Group[int, string, int] {
	g, err := NewGroup[int, string, int](Config{Limit: rate.Inf}, epoch)
	if err != nil {
		b.Fatal(err)
	}
	for i, key := range c.keys {
		g.Add(i%benchGroups, key, i, c.due[i%choices])
	}
	return g
}

// The same in a group of ten queues.
func BenchmarkGroup(b *testing.B) {
	for _, waiting := range benchSizes {
		c := newBenchChoices(waiting)
		b.Run(fmt.Sprintf("RemoveAndReAdd/waiting=%d", waiting), func(b *testing.B) {
			g := filledGroup(b, c)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				key, due := c.of(i)
				g.Remove(key)
				g.Add(i%benchGroups, key, i, due)
				i++
			}
		})
		b.Run(fmt.Sprintf("Move/waiting=%d", waiting), func(b *testing.B) {
			g := filledGroup(b, c)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				key, _ := c.of(i)
				g.Move(key, i%benchGroups)
				i++
			}
		})
	}
	b.Run("Drain10000", func(b *testing.B) {
		c := newBenchChoices(10_000)
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			g := filledGroup(b, c)
			b.StartTimer()
			for item, ok := g.Start(at(time.Hour)); ok; item, ok = g.Start(at(time.Hour)) {
				g.Finish(at(time.Hour), item, Result{})
			}
		}
	})
}
