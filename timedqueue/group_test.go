package timedqueue

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

type (
	zones    = Group[string, string, int]
	zoneItem = Item[string, int]
)

// newTestGroup returns a group that was made at epoch.
func newTestGroup(t testing.TB, config Config) *zones {
	t.Helper()
	g, err := NewGroup[string, string, int](config, epoch)
	require.NoError(t, err)
	return g
}

func groupMustStart(t *testing.T, g *zones, now time.Time, key string) zoneItem {
	t.Helper()
	item, ok := g.Start(now)
	require.True(t, ok, "nothing started, want %s", key)
	require.Equal(t, key, item.Key)
	return item
}

func groupMustHold(t *testing.T, g *zones, now time.Time) {
	t.Helper()
	item, ok := g.Start(now)
	require.False(t, ok, "started %s, want nothing", item.Key)
}

func groupStartAll(g *zones, now time.Time) []string {
	var keys []string
	for {
		item, ok := g.Start(now)
		if !ok {
			return keys
		}
		keys = append(keys, item.Key)
	}
}

func requireIn(t *testing.T, g *zones, key, zone string) {
	t.Helper()
	_, in, ok := g.Get(key)
	require.True(t, ok, "%s is not in the group", key)
	require.Equal(t, zone, in)
}

// requireGroupEmpty looks inside: no key and none of the named queues is left.
func requireGroupEmpty(t *testing.T, g *zones, gone ...string) {
	t.Helper()
	require.Zero(t, g.Len())
	require.Empty(t, g.home)
	require.Empty(t, g.moving)
	require.Empty(t, g.ready.places)
	for _, zone := range gone {
		require.NotContains(t, g.lanes, zone)
	}
	for zone, l := range g.lanes {
		require.Empty(t, l.queue.entries, "queue %s", zone)
		require.Zero(t, g.LenOf(zone))
	}
}

func TestGroupQ1KeyIsInOneQueueAtMost(t *testing.T) {
	g := newTestGroup(t, unlimited)
	require.True(t, g.Add("z1", "a", 1, at(0)))
	require.False(t, g.Add("z1", "a", 2, at(0)))
	require.False(t, g.Add("z2", "a", 2, at(0)))
	item := groupMustStart(t, g, at(0), "a")
	require.False(t, g.Add("z2", "a", 3, at(0)), "it acts")
	require.Equal(t, 1, g.Len())
	require.Equal(t, 1, g.LenOf("z1"))
	require.Zero(t, g.LenOf("z2"))
	g.Finish(at(0), item, Result{})
	require.True(t, g.Add("z2", "a", 4, at(0)))
	requireIn(t, g, "a", "z2")
}

func TestGroupQ2OrderAcrossQueuesIsDueThenInsertion(t *testing.T) {
	g := newTestGroup(t, unlimited)
	g.Add("z2", "c", 0, at(time.Second))
	g.Add("z1", "d", 0, at(time.Second))
	g.Add("z2", "e", 0, at(time.Second))
	g.Add("z1", "a", 0, at(0))
	g.Add("z3", "b", 0, at(0))
	require.Equal(t, []string{"a", "b", "c", "d", "e"}, groupStartAll(g, at(time.Minute)))
}

func TestGroupEachQueueHasItsRate(t *testing.T) {
	g := newTestGroup(t, Config{Limit: 1})
	g.SetLimit(at(0), "fast", 10)
	g.SetLimit(at(0), "held", 0)
	for i := range 100 {
		for _, zone := range []string{"held", "slow", "fast"} {
			g.Add(zone, fmt.Sprintf("%s %d", zone, i), 0, at(0))
		}
	}
	started := map[string]int{}
	for now := time.Duration(0); now <= 5*time.Second; now += 10 * time.Millisecond {
		for _, key := range groupStartAll(g, at(now)) {
			started[key[:4]]++
		}
	}
	require.Equal(t, map[string]int{"slow": 6, "fast": 51}, started)
	require.Equal(t, 100, g.LenOf("held"))
}

func TestGroupHeldBackQueueNeverDelaysAnother(t *testing.T) {
	g := newTestGroup(t, Config{Limit: 0.001})
	for i := range 50 {
		g.Add("held", fmt.Sprint("held", i), 0, at(-time.Hour))
		g.Add("drained", fmt.Sprint("drained", i), 0, at(-time.Hour))
	}
	g.SetLimit(at(0), "held", 0)
	require.Equal(t, []string{"drained0"}, groupStartAll(g, at(0)))

	g.SetLimit(at(0), "free", rate.Inf)
	g.Add("free", "x", 0, at(time.Second))
	g.Add("free", "y", 0, at(2*time.Second))
	next, ok := g.Next(at(0))
	require.True(t, ok)
	require.Equal(t, at(time.Second), next)
	groupMustStart(t, g, at(time.Second), "x")
	groupMustStart(t, g, at(2*time.Second), "y")
	groupMustHold(t, g, at(999*time.Second))
}

func TestGroupQ3NothingGivesTheTokenBackToItsQueue(t *testing.T) {
	g := newTestGroup(t, Config{Limit: 0.001})
	for _, key := range []string{"a", "b"} {
		g.Add("z1", key+"1", 0, at(0))
		g.Add("z2", key+"2", 0, at(0))
	}
	item := groupMustStart(t, g, at(0), "a1")
	groupMustStart(t, g, at(0), "a2")
	g.Move("a1", "z2") // the token was of z1
	g.Finish(at(0), item, Result{Outcome: Nothing})
	groupMustStart(t, g, at(0), "b1")
	groupMustHold(t, g, at(0))
}

func TestGroupMoveOfAWaitingKey(t *testing.T) {
	g := newTestGroup(t, Config{})
	for i, zone := range []string{"z1", "z2", "z1", "z2"} {
		g.Add(zone, string(rune('a'+i)), i, at(time.Second))
	}
	require.True(t, g.Move("c", "z2"))
	require.False(t, g.Move("absent", "z2"))
	require.True(t, g.Move("b", "z2"), "it is there already")
	requireIn(t, g, "c", "z2")
	require.Equal(t, 1, g.LenOf("z1"))
	require.Equal(t, 3, g.LenOf("z2"))
	require.Equal(t, 4, g.Len())

	g.SetLimit(at(0), "z2", rate.Inf)
	groupMustHold(t, g, at(999*time.Millisecond))
	require.Equal(t, []string{"b", "c", "d"}, groupStartAll(g, at(time.Second)), "order is kept across the move")
	g.Move("a", "z3")
	g.SetLimit(at(0), "z3", rate.Inf)
	require.Equal(t, 0, groupMustStart(t, g, at(time.Second), "a").Value)
}

func TestGroupMoveKeepsTheFailuresCounted(t *testing.T) {
	g := newTestGroup(t, unlimited)
	g.Add("z1", "a", 0, at(0))
	g.Finish(at(0), groupMustStart(t, g, at(0), "a"), Result{Outcome: Failed})
	g.Move("a", "z2")
	groupMustHold(t, g, at(999*time.Millisecond))
	item := groupMustStart(t, g, at(time.Second), "a")
	require.Equal(t, 1, item.Tries)
	g.Finish(at(time.Second), item, Result{Outcome: Failed})
	groupMustHold(t, g, at(2999*time.Millisecond))
	groupMustStart(t, g, at(3*time.Second), "a")
}

func TestGroupMoveOfAnActingKey(t *testing.T) {
	for _, test := range []struct {
		outcome Outcome
		stays   bool
	}{{Done, false}, {Nothing, false}, {Failed, true}} {
		t.Run(test.outcome.String(), func(t *testing.T) {
			g := newTestGroup(t, unlimited)
			g.Add("z1", "a", 0, at(0))
			item := groupMustStart(t, g, at(0), "a")
			require.True(t, g.Move("a", "z2"))
			requireIn(t, g, "a", "z2")
			require.Equal(t, 1, g.Len())
			require.Equal(t, 1, g.LenOf("z2"), "Get and LenOf agree")
			require.Zero(t, g.LenOf("z1"))
			groupMustHold(t, g, at(time.Hour))

			g.Finish(at(time.Hour), item, Result{Outcome: test.outcome})
			if test.stays {
				requireIn(t, g, "a", "z2")
				g.SetLimit(at(time.Hour), "z1", 0)
				item = groupMustStart(t, g, at(time.Hour+time.Second), "a")
				require.Equal(t, 1, item.Tries)
				g.Finish(at(2*time.Hour), item, Result{})
			}
			g.Retire("z1")
			g.Retire("z2")
			requireGroupEmpty(t, g, "z1", "z2")
		})
	}
}

func TestGroupMoveBackDuringAnAction(t *testing.T) {
	g := newTestGroup(t, unlimited)
	g.Add("z1", "a", 0, at(0))
	item := groupMustStart(t, g, at(0), "a")
	for _, zone := range []string{"z2", "z3", "z1"} {
		g.Move("a", zone)
		require.Equal(t, 1, g.LenOf(zone))
	}
	requireIn(t, g, "a", "z1")
	g.Finish(at(0), item, Result{Outcome: Failed})
	requireIn(t, g, "a", "z1")
	groupMustStart(t, g, at(time.Second), "a")
	for _, zone := range []string{"z2", "z3"} {
		g.Retire(zone)
		require.NotContains(t, g.lanes, zone)
	}
}

func TestGroupQ5RemoveDuringActionWins(t *testing.T) {
	g := newTestGroup(t, unlimited)
	g.Add("z1", "a", 0, at(0))
	item := groupMustStart(t, g, at(0), "a")
	g.Move("a", "z2")
	require.True(t, g.Remove("a"))
	require.False(t, g.Remove("a"))
	require.False(t, g.Move("a", "z3"))
	require.False(t, g.Refresh("a", 1))
	require.False(t, g.Reschedule("a", at(0)))
	_, _, ok := g.Get("a")
	require.False(t, ok)
	require.Zero(t, g.Len())
	g.Finish(at(0), item, Result{Outcome: Failed})
	groupMustHold(t, g, at(time.Hour))
	g.Retire("z1")
	g.Retire("z2")
	requireGroupEmpty(t, g, "z1", "z2", "z3")
}

func TestGroupQ5ReAddToAnotherQueueDuringActionWaitsForItsEnd(t *testing.T) {
	g := newTestGroup(t, unlimited)
	g.Add("z1", "a", 1, at(0))
	item := groupMustStart(t, g, at(0), "a")
	g.Move("a", "z4")
	g.Remove("a")
	require.True(t, g.Add("z2", "a", 2, at(time.Second)))
	require.False(t, g.Add("z3", "a", 3, at(0)))
	requireIn(t, g, "a", "z2")
	require.NotContains(t, g.lanes, "z3", "an Add that changes nothing makes no queue")
	groupMustHold(t, g, at(time.Hour)) // never two actions for one key
	require.True(t, g.Reschedule("a", at(2*time.Hour)))

	g.Finish(at(time.Hour), item, Result{Outcome: Done})
	requireIn(t, g, "a", "z2")
	groupMustHold(t, g, at(time.Hour))
	g.SetLimit(at(time.Hour), "z1", 0)
	g.Finish(at(time.Hour), item, Result{Outcome: Done}) // again, and late
	require.Equal(t, 2, groupMustStart(t, g, at(2*time.Hour), "a").Value)
}

// A queue's starts are counted for the whole group: else the first start in one
// queue and the first in another look the same.
func TestGroupQ5LateFinishFromAnotherQueueChangesNothing(t *testing.T) {
	g := newTestGroup(t, unlimited)
	g.Add("z1", "a", 0, at(0))
	first := groupMustStart(t, g, at(0), "a")
	g.Finish(at(0), first, Result{Outcome: Failed})
	g.Move("a", "z2")
	second := groupMustStart(t, g, at(time.Second), "a")

	g.Finish(at(time.Second), first, Result{Outcome: Failed})
	groupMustHold(t, g, at(time.Hour))
	g.Finish(at(time.Hour), second, Result{})
	require.Zero(t, g.Len())
}

func TestGroupTimeGoingBackwards(t *testing.T) {
	g := newTestGroup(t, Config{Limit: 1})
	for _, key := range []string{"a", "b"} {
		g.Add("z1", key+"1", 0, at(0))
		g.Add("z2", key+"2", 0, at(0))
	}
	groupMustStart(t, g, at(10*time.Second), "a1")
	groupMustStart(t, g, at(0), "a2") // counts as ten seconds, in this queue too
	groupMustHold(t, g, at(5*time.Second))
	g.SetLimit(at(0), "z2", 0.1)
	require.Equal(t, []string{"b1"}, groupStartAll(g, at(19*time.Second)))
	require.Equal(t, []string{"b2"}, groupStartAll(g, at(20*time.Second)))
}

func TestGroupNowFarAway(t *testing.T) {
	for _, now := range []time.Time{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), epoch.Add(math.MaxInt64)} {
		g := newTestGroup(t, Config{Limit: 1})
		for _, key := range []string{"a", "b"} {
			g.Add("z", key, 0, at(0))
		}
		groupMustStart(t, g, now, "a")
		groupMustHold(t, g, now)
		_, ok := g.Next(now)
		require.True(t, ok)
	}
}

func TestGroupNextIsTheEarliestOfItsQueues(t *testing.T) {
	g := newTestGroup(t, Config{Limit: 1})
	_, ok := g.Next(at(0))
	require.False(t, ok)
	g.Add("z1", "late", 0, at(time.Hour))
	g.Add("z2", "a", 0, at(0))
	g.Add("z2", "b", 0, at(0))
	groupMustStart(t, g, at(0), "a")
	next, ok := g.Next(at(0))
	require.True(t, ok)
	require.WithinDuration(t, at(time.Second), next, 2*time.Nanosecond)
	g.Reschedule("late", at(time.Millisecond))
	next, _ = g.Next(at(0))
	require.Equal(t, at(time.Millisecond), next)
	g.Remove("late")
	g.SetLimit(at(0), "z2", 0)
	_, ok = g.Next(at(0))
	require.False(t, ok)
}
