package timedqueue

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

func TestQ10RemovedShareGoesWhenItIsEmptyAndFull(t *testing.T) {
	q := newZones(t, perZone(1, 1))
	q.SetLimit(at(0), "zone", "z1", 0.5)
	q.RemoveShare(at(0), "zone", "absent")
	q.RemoveShare(at(0), "rack", "z1") // there is no such budget
	requireShares(t, q, "zone", "z1")
	q.RemoveShare(at(0), "zone", "z1")
	requireShares(t, q, "zone")

	q.SetLimit(at(0), "zone", "z1", 0.5)
	q.Add("a", in("z1"), at(0))
	q.Add("b", in("z1"), at(0))
	item := mustStart(t, q, at(0), "a")
	mustHold(t, q, at(0))
	q.RemoveShare(at(0), "zone", "z1")
	requireShares(t, q, "zone", "z1")
	mustHold(t, q, seconds(0.999)) // what is in it goes on at the budget's rate
	mustStart(t, q, seconds(1), "b")
	q.Finish(seconds(2), item, done)
	q.Remove("b")
	q.RemoveShare(seconds(100), "zone", "z1")
	requireShares(t, q, "zone", "z1") // a token is out
}

// A share that has spent its tokens is not forgotten: it would be full again.
func TestQ10ShareThatHasSpentItsTokensIsNotForgotten(t *testing.T) {
	q := newZones(t, perZone(0.001, 2))
	for round := range 2 {
		for i := range 500 {
			zone := fmt.Sprint("z", i)
			q.Add(fmt.Sprint(zone, "-", round), in(zone), seconds(1))
			item, ok := q.Start(seconds(1))
			require.True(t, ok)
			q.Finish(seconds(1), item, done)
			q.RemoveShare(seconds(1), "zone", zone)
		}
	}
	q.Add("a third", in("z0"), seconds(1))
	mustHold(t, q, seconds(2))
}

// Start drops shares that nothing uses, but none that a new one would differ
// from.
func TestQ10ShareIsDroppedOnlyWhenANewOneWouldBeTheSame(t *testing.T) {
	const shares = 4 * keptIdle
	q := newZones(t, perZone(0.001, 1))
	start := func(now time.Time, zone string) zoneItem {
		q.Add(zone, in(zone), now)
		return mustStart(t, q, now, zone)
	}
	var out []zoneItem
	for i := range shares {
		q.SetLimit(at(0), "zone", fmt.Sprint("own ", i), 1)
		out = append(out, start(at(0), fmt.Sprint("out ", i)))
		q.Finish(at(0), start(at(0), fmt.Sprint("spent ", i)), done)
	}
	all := func() int { return len(q.limits.budget("zone").shares) }
	q.Finish(seconds(999), start(seconds(999), "at 999 s"), done)
	require.Equal(t, 3*shares+1, all(), "none is as good as new")

	q.Finish(seconds(1001), start(seconds(1001), "at 1001 s"), done)
	require.Less(t, all(), 2*shares+keptIdle+2, "those that have spent a token have it again")
	for i, item := range out {
		limit, _ := q.Limit("zone", fmt.Sprint("own ", i))
		require.Equal(t, rate.Limit(1), limit)
		require.Contains(t, q.limits.budget("zone").shares, item.Key, "its token may come back")
		q.Finish(seconds(1001), item, done)
	}
	q.Finish(seconds(1002), start(seconds(1002), "at 1002 s"), done)
	require.Less(t, all(), shares+keptIdle+3, "no token is out any more")
}

// A removed share that has all its tokens stays until its items are gone. They
// go on at the budget's limit.
func TestQ10RemovedShareKeepsItsItems(t *testing.T) {
	q := newZones(t, perZone(1, 1))
	q.SetLimit(at(0), "zone", "z1", 0)
	for _, key := range []string{"a", "b", "c"} {
		q.Add(key, in("z1"), at(0))
	}
	mustHold(t, q, at(0))
	q.RemoveShare(at(0), "zone", "z1")
	requireShares(t, q, "zone", "z1")
	q.Finish(at(0), mustStart(t, q, at(0), "a"), done)
	mustHold(t, q, seconds(0.999))
	q.Finish(seconds(1), mustStart(t, q, seconds(1), "b"), done)
	q.RemoveShare(seconds(10), "zone", "z1")
	require.True(t, q.Remove("c"))
	requireShares(t, q, "zone")
	requireNothingLeft(t, q)
}

// A removed share in which an item starts is in use again: it is not forgotten
// when it is full, and a key that moves there finds its tokens.
func TestQ10StartCancelsTheRemovalOfAShare(t *testing.T) {
	q := newZones(t, perZone(0.1, 2))
	q.Add("b1", in("b"), at(0))
	q.Add("a1", in("a"), at(0))
	q.SetLimit(at(0), "zone", "b", 0)
	mustStart(t, q, at(0), "a1")
	mustHold(t, q, at(0))
	q.RemoveShare(at(0), "zone", "b")
	q.Finish(at(0), mustStart(t, q, at(0), "b1"), done)
	q.Advance(seconds(100))
	q.Add("a2", in("a"), at(0))
	setValue(q, "a2", in("b"))
	requireShares(t, q, "zone", "a", "b")
	mustStart(t, q, seconds(100), "a2")
}

// A removed share whose limit was zero fills up as any other.
func TestQ10ShareRemovedWhileItIsHeldIsForgotten(t *testing.T) {
	q := newZones(t, perZone(1, 1))
	q.Add("a", in("z1"), at(0))
	q.Finish(at(0), mustStart(t, q, at(0), "a"), done)
	q.SetLimit(at(0), "zone", "z1", 0)
	q.RemoveShare(at(0), "zone", "z1")
	q.RemoveShare(at(time.Hour), "zone", "z1")
	requireShares(t, q, "zone")
}

func TestQ7SharesThatComeAndGoGiveTheirMemoryBack(t *testing.T) {
	shares := sized(20_000, 100_000)
	names := manyKeys(shares)
	for name, pass := range map[string]func(q *zones){
		"one after another": func(q *zones) {
			for i, name := range names {
				now := seconds(float64(i) / 10)
				q.Add(name, node{zone: name, rack: name}, now)
				q.Finish(now, mustStart(t, q, now, name), done)
			}
		},
		"all at a time, and removed": func(q *zones) {
			q.SetLimit(at(0), "zone", "held", 0)
			for _, name := range names {
				q.Add(name, node{zone: name, rack: name}, at(0))
				item, _ := q.Start(at(0))
				q.Finish(at(0), item, done)
			}
			for _, name := range names {
				q.RemoveShare(at(time.Hour), "zone", name)
				q.RemoveShare(at(time.Hour), "rack", name)
			}
		},
		"all at a time, and forgotten": func(q *zones) {
			for _, name := range names {
				q.Add(name, node{zone: name, rack: name}, at(0))
				item, _ := q.Start(at(0))
				q.Finish(at(0), item, done)
			}
			for i := range 1000 {
				name := fmt.Sprint("another ", i)
				q.Add(name, node{zone: name, rack: name}, at(time.Hour))
				q.Finish(at(time.Hour), mustStart(t, q, at(time.Hour), name), done)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := newZones(t, perZone(1, 1), perRack(2, 1))
			before := heapInUse()
			pass(q)
			left := heapInUse() - before
			t.Logf("%d bytes are left, %d shares", left, len(q.limits.budget("zone").shares))
			require.Less(t, left, 1_000_000) // 2,000 shares are not full yet
			requireNothingLeft(t, q)
		})
	}
	runtime.KeepAlive(names)
}

// Items that wait for a share take no more when they are gone.
func TestQ7EmptiedShareGivesItsMemoryBack(t *testing.T) {
	const entries = 40_000
	keys := manyKeys(entries)
	for name, leave := range map[string]func(q *zones){
		"removed": func(q *zones) {
			for _, key := range keys {
				q.Remove(key)
			}
		},
		"moved to one share and started": func(q *zones) {
			for _, key := range keys {
				setValue(q, key, in("here"))
			}
			q.SetLimit(at(0), "zone", "here", rate.Inf)
			for item, ok := q.Start(at(0)); ok; item, ok = q.Start(at(0)) {
				q.Finish(at(0), item, done)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := newZones(t, heldZones(1))
			before := heapInUse()
			for i, key := range keys {
				q.Add(key, in(fmt.Sprint(i%200)), at(0))
			}
			for range entries/mostMoves + 1 {
				mustHold(t, q, at(0))
			}
			each := (heapInUse() - before) / entries
			require.Less(t, each, 250, "bytes an entry")
			leave(q)
			require.Zero(t, q.Len())
			require.Less(t, heapInUse()-before, 200_000)
			requireNothingLeft(t, q)
		})
	}
	runtime.KeepAlive(keys)
}
