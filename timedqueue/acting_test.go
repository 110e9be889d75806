package timedqueue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// mostOfZone is a budget under which so many nodes of a zone act at a time. A
// node is the rack of a value.
func mostOfZone(most int) zoneBudget {
	b := perZone(rate.Inf, 1)
	b.MaxActing = most
	b.HolderOf = func(_ string, n node) string { return n.rack }
	return b
}

// pod is a pod of a node of a zone.
func pod(zone, of string) node { return node{zone: zone, rack: of} }

// startItems starts whatever can be started and returns the items by key.
func startItems(t *testing.T, q *zones, now time.Time, want ...string) map[string]zoneItem {
	t.Helper()
	items := map[string]zoneItem{}
	got := []string{}
	for item, ok := q.Start(now); ok; item, ok = q.Start(now) {
		items[item.Key] = item
		got = append(got, item.Key)
	}
	require.Equal(t, append([]string{}, want...), got)
	require.NoError(t, soundness(q))
	return items
}

func requireNoNext(t *testing.T, q *zones, now time.Time) {
	t.Helper()
	next, ok := q.Next(now)
	require.False(t, ok, "only a Finish can help, and Next is %v", next)
}

func TestQ14AtMostMaxActingItemsActAtATime(t *testing.T) {
	for name, budget := range map[string]zoneBudget{
		"of all items":  {Limit: rate.Inf, MaxActing: 2},
		"of each share": {Limit: rate.Inf, MaxActing: 2, ShareOf: perZone(1, 1).ShareOf},
	} {
		t.Run(name, func(t *testing.T) {
			q := newZones(t, budget)
			for _, key := range []string{"a", "b", "c", "d", "e"} {
				q.Add(key, in("z"), at(0))
			}
			acting := startItems(t, q, at(0), "a", "b")
			requireNoNext(t, q, at(0))
			q.Finish(at(0), acting["b"], done)
			next, ok := q.Next(at(0))
			require.True(t, ok)
			require.False(t, next.After(at(0)))
			acting["c"] = startItems(t, q, at(0), "c")["c"]
			q.Finish(at(0), acting["c"], skipped)
			q.Finish(at(0), acting["a"], failed)
			acting = startItems(t, q, at(0), "d", "e")
			mustHold(t, q, seconds(1)) // a is due again, and has no slot
			require.True(t, q.Remove("d"))
			mustHold(t, q, seconds(1)) // it is acted on all the same
			q.Finish(seconds(1), acting["d"], done)
			q.Finish(seconds(1), mustStart(t, q, seconds(1), "a"), done)
			q.Finish(seconds(1), acting["e"], done)
			requireNothingLeft(t, q)
		})
	}
}

// Slots are of a share: one that has none delays no other.
func TestQ14ShareWithoutSlotsDelaysNoOther(t *testing.T) {
	budget := perZone(rate.Inf, 1)
	budget.MaxActing = 1
	q := newZones(t, budget)
	for i, zone := range []string{"x", "x", "y", "x", "y", "z"} {
		q.Add(fmt.Sprint(zone, i), in(zone), at(time.Duration(i)))
	}
	acting := startItems(t, q, at(9), "x0", "y2", "z5")
	require.Equal(t, 3, q.Delayed("zone"))
	q.Finish(at(9), acting["y2"], done)
	startItems(t, q, at(9), "y4")
}

// One node of a zone at a time: all pods of the node start, and none of the
// next node before the last of them has ended.
func TestQ14OneNodeOfAZoneAtATime(t *testing.T) {
	q := newZones(t, mostOfZone(1))
	for _, key := range []string{"1a", "2a", "1b", "3a", "2b", "1c"} {
		q.Add(key, pod("z", key[:1]), at(0))
	}
	q.Add("other zone", pod("y", "9"), at(1))
	acting := startItems(t, q, at(1), "1a", "1b", "1c", "other zone")
	requireNoNext(t, q, at(1))
	q.Finish(at(1), acting["1b"], done)
	q.Finish(at(1), acting["1a"], skipped)
	mustHold(t, q, at(time.Hour))
	requireNoNext(t, q, at(time.Hour))
	q.Finish(at(time.Hour), acting["1c"], done)
	acting = startItems(t, q, at(time.Hour), "2a", "2b")
	q.Finish(at(time.Hour), acting["2a"], done)
	mustHold(t, q, at(time.Hour))
	q.Finish(at(time.Hour), acting["2b"], done)
	startItems(t, q, at(time.Hour), "3a")
}

// A pod of the node that becomes due later needs no slot.
func TestQ14LaterPodOfTheNodeJoins(t *testing.T) {
	q := newZones(t, mostOfZone(1))
	q.Add("1a", pod("z", "1"), seconds(0))
	q.Add("2a", pod("z", "2"), seconds(1))
	q.Add("1b", pod("z", "1"), seconds(5))
	first := startItems(t, q, seconds(4), "1a")
	next, ok := q.Next(seconds(4))
	require.True(t, ok)
	require.Equal(t, seconds(5), next)
	second := startItems(t, q, seconds(5), "1b")
	q.Finish(seconds(6), first["1a"], done)
	mustHold(t, q, seconds(6))
	q.Finish(seconds(7), second["1b"], done)
	startItems(t, q, seconds(7), "2a")
}

// The slot of a node ends with its last action, though it has pods that wait
// for their backoff. Whichever node is due then is next.
func TestQ14SlotEndsWithTheLastAction(t *testing.T) {
	for name, end := range map[string]func(q *zones, item zoneItem){
		"done":    func(q *zones, item zoneItem) { q.Finish(at(0), item, done) },
		"skipped": func(q *zones, item zoneItem) { q.Finish(at(0), item, skipped) },
		"failed":  func(q *zones, item zoneItem) { q.Finish(at(0), item, failed) },
		"continued": func(q *zones, item zoneItem) {
			q.Finish(at(0), item, Result{Outcome: OutcomeContinued, At: at(1)})
		},
		"idle": func(q *zones, item zoneItem) {
			q.Finish(at(0), item, Result{Outcome: OutcomePostponed, Idle: true})
		},
		"removed": func(q *zones, item zoneItem) {
			q.Remove(item.Key)
			mustHold(t, q, at(0)) // the action goes on
			q.Finish(at(0), item, failed)
		},
		"replaced": func(q *zones, item zoneItem) {
			q.Remove(item.Key)
			q.Add(item.Key, pod("another", "1"), at(0))
			mustHold(t, q, at(0))
			q.Finish(at(0), item, done)
			q.Remove(item.Key)
		},
		"moved to another node": func(q *zones, item zoneItem) {
			q.Set(item.Key, pod("z", "3"), at(1))
			mustHold(t, q, at(0))
			q.Finish(at(0), item, done)
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := newZones(t, mostOfZone(1))
			q.Add("1", pod("z", "1"), at(0))
			q.Add("2", pod("z", "2"), at(0))
			end(q, startItems(t, q, at(0), "1")["1"])
			startItems(t, q, at(0), "2")
		})
	}
}

// A pod that waits for a slot and turns out to be of the node that acts starts
// at once. One that leaves the node waits.
func TestQ14HolderChangesWhileItWaits(t *testing.T) {
	q := newZones(t, mostOfZone(1))
	for _, key := range []string{"1a", "2a", "2b"} {
		q.Add(key, pod("z", key[:1]), at(0))
	}
	acting := startItems(t, q, at(0), "1a")
	setValue(q, "2b", pod("z", "1"))
	acting["2b"] = startItems(t, q, at(0), "2b")["2b"]
	q.Add("1b", pod("z", "1"), at(1))
	q.Set("1b", pod("z", "3"), at(1))
	startItems(t, q, at(1))
	q.Finish(at(1), acting["1a"], done)
	startItems(t, q, at(1))
	q.Finish(at(1), acting["2b"], done)
	q.Finish(at(1), startItems(t, q, at(1), "2a")["2a"], done)
	startItems(t, q, at(1), "1b")
}

// HolderOf without ShareOf: two nodes at a time, whatever their zones.
func TestQ14HoldersOfAllItems(t *testing.T) {
	budget := mostOfZone(2)
	budget.ShareOf, budget.Name = nil, "nodes"
	q := newZones(t, budget)
	for i, key := range []string{"1a", "2a", "3a", "1b", "3b", "2b"} {
		q.Add(key, pod(fmt.Sprint("zone ", i), key[:1]), at(0))
	}
	acting := startItems(t, q, at(0), "1a", "2a", "1b", "2b")
	require.Equal(t, 2, q.Delayed("nodes"))
	require.True(t, q.SetLimit(at(0), "nodes", "whatever", 0))
	q.Finish(at(0), acting["2a"], done)
	q.Finish(at(0), acting["2b"], done)
	mustHold(t, q, at(0)) // a slot is free, and the limit holds
	q.SetLimit(at(0), "nodes", "", rate.Inf)
	startItems(t, q, at(0), "3a", "3b")
}

// A node that acts still needs tokens, and those that it returns are at hand
// for the next node only with its slot.
func TestQ14SlotsAndTokens(t *testing.T) {
	budget := mostOfZone(1)
	budget.Limit, budget.Burst = 1, 2
	q := newZones(t, budget)
	for _, key := range []string{"1a", "1b", "1c", "2a"} {
		q.Add(key, pod("z", key[:1]), at(0))
	}
	acting := startItems(t, q, at(0), "1a", "1b")
	next, ok := q.Next(at(0))
	require.True(t, ok)
	require.WithinDuration(t, seconds(1), next, 2)
	q.Finish(at(0), acting["1a"], skipped)
	acting["1c"] = startItems(t, q, at(0), "1c")["1c"]
	q.Finish(at(0), acting["1c"], skipped)
	startItems(t, q, at(0)) // a token is at hand, and no slot
	requireNoNext(t, q, at(0))
	q.Finish(at(0), acting["1b"], done)
	startItems(t, q, at(0), "2a")
}

// An item needs a slot of each budget. One that has a slot of the first waits
// for the second without taking that of the first.
func TestQ14SeveralBudgetsAtOnce(t *testing.T) {
	zone, all := mostOfZone(1), overall(rate.Inf, 1)
	all.MaxActing = 3
	team := perRack(rate.Inf, 1) // of the rank, at most two pods
	team.Name, team.MaxActing = "rank", 2
	team.ShareOf = func(_ string, n node) string { return fmt.Sprint(n.rank) }
	for _, budgets := range [][]zoneBudget{{zone, all, team}, {team, zone, all}, {all, team, zone}} {
		q := newZones(t, budgets...)
		for i, key := range []string{"x1a", "x1b", "x1c", "x2a", "y1a", "y1b", "z1a"} {
			value := node{zone: key[:1], rack: key[:2]}
			if key[0] == 'z' {
				value.rank = 1
			}
			q.Add(key, value, at(time.Duration(i)))
		}
		acting := startItems(t, q, at(9), "x1a", "x1b", "z1a")
		requireNoNext(t, q, at(9)) // the overall budget has no slot
		q.Finish(at(9), acting["x1a"], done)
		acting["x1c"] = startItems(t, q, at(9), "x1c")["x1c"]
		q.Finish(at(9), acting["z1a"], done)
		startItems(t, q, at(9)) // the zone keeps x2, and the rank y1
		requireNoNext(t, q, at(9))
		q.Finish(at(9), acting["x1b"], done)
		acting["y1a"] = startItems(t, q, at(9), "y1a")["y1a"]
		q.Finish(at(9), acting["x1c"], done)
		acting["x2a"] = startItems(t, q, at(9), "x2a")["x2a"]
		q.Finish(at(9), acting["x2a"], done)
		acting["y1b"] = startItems(t, q, at(9), "y1b")["y1b"]
		q.Finish(at(9), acting["y1a"], done)
		q.Finish(at(9), acting["y1b"], done)
		requireNothingLeft(t, q)
	}
}

// A rename of the zone while its node acts gives the new zone a slot of its
// own. The slot of the former one goes back there.
func TestQ14SlotsAreOfTheShareThatTheActionStartedIn(t *testing.T) {
	q := newZones(t, mostOfZone(1))
	q.Add("1a", pod("old", "1"), at(0))
	q.Add("2a", pod("old", "2"), at(0))
	acting := startItems(t, q, at(0), "1a")
	q.Set("1a", pod("new", "1"), seconds(9))
	q.Add("3a", pod("new", "3"), at(0))
	startItems(t, q, at(0), "3a")
	q.RemoveShare(at(0), "zone", "old")
	q.Finish(at(0), acting["1a"], failed)
	startItems(t, q, at(0), "2a")
}

// What goes on after its action keeps its slot until that is over.
func TestQ14OccupiedSlotsAreTaken(t *testing.T) {
	all := overall(rate.Inf, 1)
	all.MaxActing = 2
	for name, test := range map[string]struct {
		budgets []zoneBudget
		next    []string // that start while 1a occupies its slot
	}{
		"holders":      {[]zoneBudget{mostOfZone(1)}, []string{"1b"}},
		"items":        {[]zoneBudget{all}, []string{"1b"}}, // 2a has no slot before 1b ends
		"no MaxActing": {[]zoneBudget{perZone(rate.Inf, 1)}, []string{"1b", "2a"}},
	} {
		t.Run(name, func(t *testing.T) {
			q := newZones(t, test.budgets...)
			e, _ := q.Keep("1a", pod("z", "1"))
			q.Schedule(e, at(0))
			item := mustStart(t, q, at(0), "1a")
			q.Occupy(e)
			q.Occupy(e)
			q.Finish(at(0), item, Result{Outcome: OutcomePostponed, Idle: true})
			q.Add("1b", pod("z", "1"), at(1))
			q.Add("2a", pod("z", "2"), at(2))
			acting := startItems(t, q, at(2), test.next...)
			q.Finish(at(2), acting["1b"], done)
			if name == "holders" {
				requireNoNext(t, q, at(2))
				q.Vacate(e)
				q.Vacate(e)
				startItems(t, q, at(2), "2a")
			}
		})
	}
}

// A removed entry is vacated, whatever is acted on.
func TestQ14RemovedEntryIsVacated(t *testing.T) {
	for _, acts := range []bool{false, true} {
		q := newZones(t, mostOfZone(1))
		e, _ := q.Keep("1a", pod("z", "1"))
		q.Schedule(e, at(0))
		item := mustStart(t, q, at(0), "1a")
		q.Occupy(e)
		q.Add("2a", pod("z", "2"), at(0))
		if !acts {
			q.Finish(at(0), item, Result{Outcome: OutcomePostponed, Idle: true})
		}
		startItems(t, q, at(0))
		requireNoNext(t, q, at(0))
		q.Remove("1a")
		if acts {
			startItems(t, q, at(0))
			requireNoNext(t, q, at(0))
			q.Finish(at(0), item, failed)
		}
		startItems(t, q, at(0), "2a")
		q.Occupy(e) // it is in the queue no more
		require.Empty(t, q.slots.grants)
	}
}

// Many holders come and go, and wait by turns.
func TestQ14LanesOfManyHoldersAreForgotten(t *testing.T) {
	const nodes = 5000
	q := newZones(t, mostOfZone(1))
	for i := range nodes {
		for _, suffix := range []string{"a", "b"} {
			q.Add(fmt.Sprint(i, suffix), pod("z", fmt.Sprint(i)), at(time.Duration(i)))
		}
	}
	for i := range nodes {
		open := []zoneItem{}
		for calls := 0; len(open) < 2; calls++ { // some only move items to their lanes
			require.Less(t, calls, 10)
			if item, ok := q.Start(seconds(1)); ok {
				require.Equal(t, fmt.Sprint(i), item.Value.rack)
				open = append(open, item)
			}
		}
		for _, item := range open {
			q.Finish(seconds(1), item, done)
		}
		if i%500 == 0 {
			require.NoError(t, soundness(q))
		}
	}
	requireNothingLeft(t, q)
	require.LessOrEqual(t, len(q.limits.lanes), keptWhenEmpty)
	require.Zero(t, q.limits.liveLanes())
}

// The promise under concurrency: never more nodes of a zone than MaxActing, and
// all pods are acted on.
func TestQ14NeverMoreHoldersActUnderADispatcher(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		q, err := NewQueue(zoneConfig{Budgets: []zoneBudget{mostOfZone(2)},
			Backoff: Backoff{Initial: time.Millisecond}}, time.Now())
		require.NoError(t, err)
		var mu sync.Mutex
		acting := map[string]map[string]int{} // by zone and node
		most, acted := 0, map[string]bool{}
		random := rand.New(rand.NewPCG(seed, 14))
		d := run(t, q, 16, func(_ context.Context, item zoneItem) Result {
			mu.Lock()
			zone, of := item.Value.zone, item.Value.rack
			if acting[zone] == nil {
				acting[zone] = map[string]int{}
			}
			acting[zone][of]++
			most = max(most, len(acting[zone]))
			acted[item.Key] = true
			lasts := time.Duration(random.IntN(5000)) * time.Microsecond
			result := [...]Result{actionDone, actionSkipped, actionFailed}[random.IntN(3)]
			mu.Unlock()
			time.Sleep(lasts)
			mu.Lock()
			if acting[zone][of]--; acting[zone][of] == 0 {
				delete(acting[zone], of)
			}
			mu.Unlock()
			return result
		})
		d.Update(func() {
			for i := range 600 {
				q.Add(fmt.Sprint(i), pod(fmt.Sprint(i%3), fmt.Sprint(i%30)), time.Now())
			}
		})
		sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, acted, 600)
		require.Equal(t, 2, most)
		d.View(func() { require.Zero(t, q.Len()) })
	})
}
