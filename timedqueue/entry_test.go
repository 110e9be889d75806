package timedqueue

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEntryOfAKeyThatIsNewHasNoDueTime(t *testing.T) {
	q := newTestQueue(t, unlimited)
	e, isNew := q.Keep("a", 1)
	require.True(t, isNew)
	require.Equal(t, "a", e.Key())
	require.Equal(t, 1, *e.Value())
	require.Equal(t, 1, q.Len())
	require.Empty(t, pendingKeys(q))
	_, ok := q.Due(e)
	require.False(t, ok)
	mustHold(t, q, at(time.Hour))
	require.False(t, q.Add("a", 2, at(0)), "it is in the queue")

	again, isNew := q.Keep("a", 3)
	require.False(t, isNew)
	require.Same(t, e, again)
	require.Equal(t, 1, *e.Value())
	found, ok := q.Find("a")
	require.True(t, ok)
	require.Same(t, e, found)
	_, ok = q.Find("absent")
	require.False(t, ok)

	q.Schedule(e, at(2*time.Hour))
	due, ok := q.Due(e)
	require.True(t, ok)
	require.Equal(t, at(2*time.Hour), due)
	require.Len(t, pendingKeys(q), 1)
	q.Unschedule(e)
	require.Empty(t, pendingKeys(q))
	mustHold(t, q, at(3*time.Hour))
	q.Schedule(e, at(0))
	item := mustStart(t, q, at(3*time.Hour), "a")
	require.True(t, q.Acting(e))
	require.Len(t, pendingKeys(q), 1)
	q.Finish(at(3*time.Hour), item, Result{Outcome: OutcomeContinued, Idle: true})
	require.Equal(t, 1, q.Len(), "it stays, without a due time")
	require.Empty(t, pendingKeys(q))
	q.Release(e)
	requireNothingLeft(t, q)
}

// An entry whose key has left the queue is ignored, also if the key is there
// again.
func TestStaleEntryIsIgnored(t *testing.T) {
	q := newZones(t, perZone(1, 1))
	e, _ := q.Keep("a", in("z"))
	q.Schedule(e, at(0))
	q.Remove("a")
	use := func() {
		q.Schedule(e, at(0))
		q.Unschedule(e)
		*e.Value() = in("another")
		q.Refile(e)
		require.False(t, q.Acting(e))
		_, ok := q.Due(e)
		require.False(t, ok)
		require.NoError(t, soundness(q))
	}
	use()
	requireNothingLeft(t, q)
	for range 100 { // it is not used for other keys either
		q.Add("a", in("z"), at(0))
		q.Add("b", in("z"), at(0))
		use()
		require.Equal(t, 2, q.Len())
		item, ok := q.Start(at(time.Hour))
		require.True(t, ok)
		use()
		require.Equal(t, in("z"), item.Value)
		q.Remove("a")
		q.Remove("b")
		q.Finish(at(time.Hour), item, skipped)
	}
	requireNothingLeft(t, q)
}

func TestKeepOfAKeyThatWasRemovedDuringItsAction(t *testing.T) {
	for _, outcome := range allOutcomes {
		t.Run(string(outcome), func(t *testing.T) {
			q := newTestQueue(t, unlimited)
			q.Add("a", 1, at(0))
			item := mustStart(t, q, at(0), "a")
			q.Remove("a")
			_, ok := q.Find("a")
			require.False(t, ok)
			e, isNew := q.Keep("a", 2)
			require.True(t, isNew)
			require.True(t, q.Acting(e))
			require.Len(t, pendingKeys(q), 1)
			q.Finish(at(0), item, Result{Outcome: outcome, At: at(0)})
			require.Equal(t, 1, q.Len())
			require.Empty(t, pendingKeys(q), "the result is not about it")
			mustHold(t, q, at(time.Hour))
			q.Schedule(e, at(0))
			item = mustStart(t, q, at(time.Hour), "a")
			require.Equal(t, 2, item.Value)
			require.Zero(t, item.Attempts)
		})
	}
}

func TestUnscheduleDuringAnActionWins(t *testing.T) {
	for _, outcome := range allOutcomes {
		t.Run(string(outcome), func(t *testing.T) {
			q := newTestQueue(t, unlimited)
			e, _ := q.Keep("a", 1)
			q.Schedule(e, at(0))
			q.Finish(at(0), mustStart(t, q, at(0), "a"), failed)
			item := mustStart(t, q, at(time.Second), "a")
			require.Equal(t, 1, item.Attempts)
			q.Unschedule(e)
			q.Finish(at(time.Second), item, Result{Outcome: outcome, At: at(0)})
			require.Equal(t, 1, q.Len())
			mustHold(t, q, at(time.Hour))
			q.Add("b", 0, at(0))
			q.Schedule(e, at(0))
			mustStart(t, q, at(time.Hour), "b")
			require.Zero(t, mustStart(t, q, at(time.Hour), "a").Attempts)
		})
	}
}

// The order and the share of a key follow its value, whether it waits for its
// time or for a token.
func TestRefileSortsByTheNewValue(t *testing.T) {
	for name, wait := range map[string]func(q *zones){
		"for its time": func(*zones) {},
		"for a token": func(q *zones) {
			q.SetLimit(at(0), "zone", "z", 0)
			mustHold(t, q, seconds(10))
			q.SetLimit(seconds(10), "zone", "z", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			less := func(a, b node) bool { return a.rank < b.rank }
			q, err := NewQueue(zoneConfig{Budgets: []zoneBudget{perZone(1, 5)}, Less: less}, epoch)
			require.NoError(t, err)
			entries := map[string]*Entry[string, node]{}
			for i, key := range []string{"a", "b", "c", "d", "e"} {
				entries[key], _ = q.Keep(key, node{zone: "z", rank: i})
				q.Schedule(entries[key], seconds(10))
			}
			wait(q)
			entries["a"].Value().rank = 9
			q.Refile(entries["a"])
			entries["e"].Value().rank = -1
			q.Refile(entries["e"])
			q.SetLimit(at(0), "zone", "held", 0)
			entries["c"].Value().zone = "held"
			q.Refile(entries["c"])
			require.Equal(t, []string{"e", "b", "d", "a"}, startAll(q, seconds(10)))
			entries["c"].Value().zone = "free"
			q.Refile(entries["c"])
			mustHold(t, q, seconds(10.999)) // its share begins empty
			mustStart(t, q, seconds(11), "c")
		})
	}
}

func TestAllHasWhatIsPending(t *testing.T) {
	q := newZones(t, perZone(0.1, 1))
	q.Keep("idle", in("a"))
	q.Add("acting", in("a"), at(0))
	q.Add("without a token", in("a"), seconds(1))
	q.Add("later", in("a"), seconds(9))
	mustStart(t, q, at(0), "acting")
	q.Add("removed", in("b"), at(0))
	mustStart(t, q, at(0), "removed")
	q.Remove("removed")
	mustHold(t, q, seconds(1))
	want := map[string]bool{"acting": true, "without a token": false, "later": false}
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), pendingKeys(q))
	for _, key := range pendingKeys(q) {
		e, _ := q.Find(key)
		require.Equal(t, want[key], q.Acting(e))
	}
	for stop := range 4 { // at any of them, and of the removed one
		seen := 0
		for range q.all {
			seen++
			if seen > stop {
				break
			}
		}
		require.Equal(t, stop+1, seen)
	}
}

// A key that comes and goes allocates nothing if its entry is given back. During
// its action it is not used for another key.
func TestReleasedEntryIsUsedAgain(t *testing.T) {
	q := newTestQueue(t, unlimited)
	e, _ := q.Keep("a", 1)
	q.Release(e)
	q.Release(e)
	requireNothingLeft(t, q)
	again, _ := q.Keep("b", 2)
	require.Same(t, e, again)
	require.Equal(t, 2, *again.Value())

	q.Schedule(again, at(0))
	item := mustStart(t, q, at(0), "b")
	q.Release(again)
	other, _ := q.Keep("c", 3)
	require.NotSame(t, again, other)
	q.Finish(at(0), item, done)
	another, _ := q.Keep("d", 4)
	require.Same(t, again, another)
	q.Schedule(another, at(0))
	q.Finish(at(0), item, done) // ignored
	mustStart(t, q, at(0), "d")
}
