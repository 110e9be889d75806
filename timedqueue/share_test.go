package timedqueue

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// A node is the value of an item whose zone is a share.
type node struct {
	zone, rack string
	rank       int
}

type (
	zones      = Queue[string, node]
	zoneItem   = Item[string, node]
	zoneConfig = QueueConfig[string, node]
	zoneBudget = Budget[string, node]
)

func perZone(limit rate.Limit, burst int) zoneBudget {
	return zoneBudget{Name: "zone", ShareOf: func(_ string, n node) string { return n.zone },
		Limit: limit, Burst: burst}
}

// heldZones is a budget whose shares hold until they are given limits.
func heldZones(burst int) zoneBudget {
	b := perZone(0, burst)
	b.Held = true
	return b
}

func perRack(limit rate.Limit, burst int) zoneBudget {
	return zoneBudget{Name: "rack", ShareOf: func(_ string, n node) string { return n.rack },
		Limit: limit, Burst: burst}
}

func overall(limit rate.Limit, burst int) zoneBudget {
	return zoneBudget{Name: "overall", Limit: limit, Burst: burst}
}

// newZones returns a queue that was made at epoch.
func newZones(t testing.TB, budgets ...zoneBudget) *zones {
	t.Helper()
	backoff := Backoff{Initial: time.Second, Max: 8 * time.Second}
	q, err := NewQueue(zoneConfig{Budgets: budgets, Backoff: backoff}, epoch)
	require.NoError(t, err)
	return q
}

func in(zone string) node { return node{zone: zone} }

func TestQ2OrderAcrossSharesIsDueThenInsertion(t *testing.T) {
	for _, limit := range []rate.Limit{rate.Inf, 100} {
		q := newZones(t, perZone(limit, 10))
		q.Add("c", in("z2"), at(time.Second))
		q.Add("d", in("z1"), at(time.Second))
		q.Add("e", in("z2"), at(time.Second))
		q.Add("a", in("z1"), at(0))
		q.Add("b", in("z3"), at(0))
		require.Equal(t, []string{"a", "b", "c", "d", "e"}, startAll(q, at(time.Minute)))
	}
}

// Shares that get a token at the same time start in the order of their first
// items, by due time, Less and insertion.
func TestQ10SharesAreAskedInTheOrderOfTheirFirstItems(t *testing.T) {
	config := zoneConfig{Budgets: []zoneBudget{perZone(1, 1)},
		Less: func(a, b node) bool { return a.rank < b.rank }}
	q, err := NewQueue(config, epoch)
	require.NoError(t, err)
	for i, zone := range []string{"z1", "z2", "z3", "z4"} {
		q.Add("first "+zone, in(zone), at(0))
		q.Add("second "+zone, node{zone: zone, rank: []int{2, 3, 1, 2}[i]}, at(0))
	}
	require.Len(t, startAll(q, at(0)), 4)
	q.Add("earlier z4", node{zone: "z4", rank: 9}, at(-1))
	require.Equal(t, []string{"earlier z4", "second z3", "second z1", "second z2"},
		startAll(q, at(time.Second)))
	require.Equal(t, []string{"second z4"}, startAll(q, at(2*time.Second)))
}

func TestQ10EachShareHasItsRate(t *testing.T) {
	q := newZones(t, perZone(1, 1))
	q.SetLimit(at(0), "zone", "fast", 10)
	q.SetLimit(at(0), "zone", "held", 0)
	for i := range 100 {
		for _, zone := range []string{"held", "slow", "fast"} {
			q.Add(fmt.Sprintf("%s %d", zone, i), in(zone), at(0))
		}
	}
	started := map[string]int{}
	for now := time.Duration(0); now <= 5*time.Second; now += 10 * time.Millisecond {
		for _, key := range startAll(q, at(now)) {
			started[key[:4]]++
		}
	}
	require.Equal(t, map[string]int{"slow": 6, "fast": 51}, started)
	require.Equal(t, 300, q.Len(), "those that are acted on count, too")
}

func TestQ10ItemThatWaitsForAScarceShareDelaysNoOther(t *testing.T) {
	q := newZones(t, perZone(0.001, 1))
	for i := range 50 {
		q.Add(fmt.Sprint("held", i), in("held"), at(-time.Hour))
		q.Add(fmt.Sprint("drained", i), in("drained"), at(-time.Hour))
	}
	q.SetLimit(at(0), "zone", "held", 0)
	require.Equal(t, []string{"drained0"}, startAll(q, at(0)))

	q.SetLimit(at(0), "zone", "free", rate.Inf)
	q.Add("x", in("free"), at(time.Second))
	q.Add("y", in("free"), at(2*time.Second))
	next, ok := q.Next(at(0))
	require.True(t, ok)
	require.Equal(t, at(time.Second), next)
	mustStart(t, q, at(time.Second), "x")
	mustStart(t, q, at(2*time.Second), "y")
	mustHold(t, q, at(999*time.Second))
}

// An item starts when each budget has a token for it, and takes one of each.
func TestQ10ItemStartsWhenEachBudgetHasAToken(t *testing.T) {
	items := []struct {
		key   string
		value node
	}{
		{"a1", node{zone: "a", rack: "1"}}, {"a2", node{zone: "a", rack: "1"}},
		{"a3", node{zone: "a", rack: "2"}},
		{"b1", node{zone: "b", rack: "1"}}, {"b2", node{zone: "b", rack: "2"}},
		{"c1", node{zone: "c", rack: "2"}},
	}
	for name, test := range map[string]struct {
		budgets []zoneBudget
		want    [][]string // at 10 s, 11 s, ...
	}{
		"none": {nil, [][]string{{"a1", "a2", "a3", "b1", "b2", "c1"}}},
		"overall": {
			[]zoneBudget{overall(1, 2)},
			[][]string{{"a1", "a2"}, {"a3"}, {"b1"}, {"b2"}, {"c1"}},
		},
		"per zone": {[]zoneBudget{perZone(1, 1)}, [][]string{{"a1", "b1", "c1"}, {"a2", "b2"}, {"a3"}}},
		"per rack": {[]zoneBudget{perRack(1, 1)}, [][]string{{"a1", "a3"}, {"a2", "b2"}, {"b1", "c1"}}},
		"two": {[]zoneBudget{perRack(1, 1), perZone(0.5, 1)},
			[][]string{{"a1", "b2"}, {"c1"}, {"a2"}, {"b1"}, {"a3"}}},
		"no limit": {[]zoneBudget{perRack(rate.Inf, 1)},
			[][]string{{"a1", "a2", "a3", "b1", "b2", "c1"}}},
		"all three": {[]zoneBudget{overall(1, 1), perRack(1, 1), perZone(0.5, 1)},
			[][]string{{"a1"}, {"b1"}, {"a2"}, {"b2"}, {"a3"}, {"c1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			q := newZones(t, test.budgets...)
			for _, item := range items {
				q.Add(item.key, item.value, seconds(10))
			}
			for i, want := range test.want {
				now := seconds(10 + float64(i))
				var started []string
				for item, ok := q.Start(now); ok; item, ok = q.Start(now) {
					started = append(started, item.Key)
					q.Finish(now, item, done)
				}
				require.Equal(t, want, started, "at %v", now.Sub(epoch))
			}
			_, ok := q.Next(seconds(1000))
			require.False(t, ok)
			requireNothingLeft(t, q)
		})
	}
}

func TestQ10ItemsEnterAShareOnlyWhenDue(t *testing.T) {
	q := newZones(t, perZone(1, 1))
	for i := range 1000 {
		q.Add(fmt.Sprint(i), in(fmt.Sprint(i)), at(time.Hour))
	}
	q.Add("due", in("z"), at(0))
	mustStart(t, q, at(0), "due")
	mustHold(t, q, at(time.Hour-time.Minute))
	requireShares(t, q, "zone", "z")
	for i := range 1000 {
		setValue(q, fmt.Sprint(i), in(fmt.Sprint(-i)))
	}
	mustHold(t, q, at(time.Hour-1))
	require.Zero(t, q.Delayed("zone"))
	require.Len(t, startAll(q, at(time.Hour)), 1000)
}

func TestQ6HeldShareReleasesAtItsNewRate(t *testing.T) {
	q := newZones(t, perZone(rate.Inf, 1))
	require.False(t, q.SetLimit(at(0), "rack", "east", 0), "there is no such budget")
	require.True(t, q.SetLimit(at(0), "zone", "east", 0))
	for i := range 5 {
		q.Add(fmt.Sprint("e", i), in("east"), seconds(10))
		q.Add(fmt.Sprint("w", i), in("west"), seconds(10))
	}
	require.Equal(t, []string{"w0", "w1", "w2", "w3", "w4"}, startAll(q, seconds(10)))
	mustHold(t, q, seconds(1000))
	_, ok := q.Next(seconds(1000))
	require.False(t, ok, "only a change makes a difference")

	require.True(t, q.SetLimit(seconds(1000), "zone", "east", 0.5))
	mustStart(t, q, seconds(1000), "e0") // the token that was stored when it was held
	for i := 1; i < 5; i++ {
		mustHold(t, q, seconds(999.999+2*float64(i)))
		mustStart(t, q, seconds(1000+2*float64(i)), fmt.Sprint("e", i))
	}
}

func TestQ6LimitOfAShareCountsAlsoBeforeItsFirstItem(t *testing.T) {
	q := newZones(t, perZone(rate.Inf, 1))
	q.SetLimit(at(0), "zone", "east", 0)
	q.Add("p", in("east"), at(0))
	mustHold(t, q, seconds(5))
	limit, ok := q.Limit("zone", "east")
	require.True(t, ok)
	require.Zero(t, limit)
	limit, ok = q.Limit("zone", "west")
	require.True(t, ok)
	require.Equal(t, rate.Inf, limit)
	_, ok = q.Limit("rack", "west")
	require.False(t, ok)
	q.SetLimit(seconds(6), "zone", "east", rate.Inf)
	mustStart(t, q, seconds(6), "p")
}

// The name of a share is ignored for a budget that all items share.
func TestQ6BudgetOfAllItemsHasOneShare(t *testing.T) {
	q := newZones(t, zoneBudget{Name: "overall", Held: true})
	q.Add("p", in("a"), at(0))
	q.Add("q", in("b"), at(0))
	mustHold(t, q, seconds(100))
	require.True(t, q.SetLimit(seconds(100), "overall", "whatever", 1))
	limit, _ := q.Limit("overall", "another")
	require.Equal(t, rate.Limit(1), limit)
	q.RemoveShare(seconds(100), "overall", "")
	requireShares(t, q, "overall", "")
	mustStart(t, q, seconds(100), "p")
	mustHold(t, q, seconds(100))
	mustStart(t, q, seconds(101), "q")
}

func TestQ3SkippedReturnsTheTokensToTheirShares(t *testing.T) {
	q := newZones(t, perZone(0.001, 1))
	for _, key := range []string{"a", "b"} {
		q.Add(key+"1", in("z1"), at(0))
		q.Add(key+"2", in("z2"), at(0))
	}
	item := mustStart(t, q, at(0), "a1")
	mustStart(t, q, at(0), "a2")
	setValue(q, "a1", in("z2")) // the token was of z1
	q.Finish(at(0), item, skipped)
	mustStart(t, q, at(0), "b1")
	mustHold(t, q, at(0))
}

func TestTimeGoingBackwardsEarnsNothingInAnyShare(t *testing.T) {
	q := newZones(t, perZone(1, 1))
	for _, key := range []string{"a", "b"} {
		q.Add(key+"1", in("z1"), at(0))
		q.Add(key+"2", in("z2"), at(0))
	}
	mustStart(t, q, at(10*time.Second), "a1")
	mustStart(t, q, at(0), "a2") // counts as ten seconds
	mustHold(t, q, at(5*time.Second))
	q.SetLimit(at(0), "zone", "z2", 0.1)
	require.Equal(t, []string{"b1"}, startAll(q, at(19*time.Second)))
	require.Equal(t, []string{"b2"}, startAll(q, at(20*time.Second)))
}

func TestNowFarAwayWithShares(t *testing.T) {
	for _, now := range []time.Time{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
		epoch.Add(math.MaxInt64)} {
		q := newZones(t, perZone(1, 1))
		for _, key := range []string{"a", "b"} {
			q.Add(key, in("z"), at(0))
		}
		mustStart(t, q, now, "a")
		mustHold(t, q, now)
		_, ok := q.Next(now)
		require.True(t, ok)
	}
}

func TestNextIsTheEarliestOfAllShares(t *testing.T) {
	q := newZones(t, perZone(1, 1))
	_, ok := q.Next(at(0))
	require.False(t, ok)
	q.Add("late", in("z1"), at(time.Hour))
	q.Add("a", in("z2"), at(0))
	q.Add("b", in("z2"), at(0))
	mustStart(t, q, at(0), "a")
	mustHold(t, q, at(0))
	next, ok := q.Next(at(0))
	require.True(t, ok)
	require.WithinDuration(t, at(time.Second), next, 2*time.Nanosecond)
	q.Set("late", in("z1"), at(time.Millisecond))
	next, _ = q.Next(at(0))
	require.Equal(t, at(time.Millisecond), next)
	q.Remove("late")
	q.SetLimit(at(0), "zone", "z2", 0)
	_, ok = q.Next(at(0))
	require.False(t, ok)
}

func TestBlockingNamesTheBudgetThatDelays(t *testing.T) {
	q := newZones(t, overall(0.01, 2), perZone(0.001, 1))
	for _, key := range []string{"acting", "no token"} {
		q.Add(key, in("a"), at(0))
	}
	q.Add("none at all", in("b"), at(0))
	q.Add("later", in("a"), at(time.Hour))
	mustStart(t, q, at(0), "acting")
	blocking := func(key string) string {
		e, ok := q.Find(key)
		require.True(t, ok)
		name, _ := q.Blocking(e)
		return name
	}
	failing := mustStart(t, q, at(0), "none at all")
	q.Finish(at(0), failing, Result{Outcome: OutcomePostponed, At: at(0)})
	require.Equal(t, "zone", blocking("no token"))
	mustStart(t, q, at(0), "none at all")
	require.Equal(t, "zone", blocking("no token"))
	q.Add("another", in("c"), at(0))
	mustHold(t, q, at(0))
	require.Equal(t, "overall", blocking("another"))
	require.Empty(t, blocking("acting"))
	require.Empty(t, blocking("later"))
}

// The caller holds a lock, so one Start moves some thousands of items at most.
func TestQ10ManyItemsThatWaitForAShareAreMovedInSteps(t *testing.T) {
	const crowd = 25_000
	q := newZones(t, perZone(0.001, 1))
	for i := range crowd {
		q.Add(fmt.Sprint("p", i), in("crowd"), seconds(1))
	}
	q.Add("other", in("alone"), seconds(1))
	mustStart(t, q, seconds(10), "p0")
	starts := 0
	for ; ; starts++ {
		item, ok := q.Start(seconds(10))
		if ok {
			require.Equal(t, "other", item.Key)
			break
		}
		next, ok := q.Next(seconds(10))
		require.True(t, ok)
		require.False(t, next.After(seconds(10)), "there is more to move")
	}
	require.Equal(t, crowd/mostMoves-1, starts)
	mustHold(t, q, seconds(10))
	next, ok := q.Next(seconds(10))
	require.True(t, ok)
	require.Equal(t, seconds(1010), next)
}

// So are shares that have a token again at the same time opened in steps, and
// nothing starts before all of them are open.
func TestQ10ManySharesAreOpenedInSteps(t *testing.T) {
	const shares = 3*mostMoves + 10
	q := newZones(t, perZone(1, 1))
	for i := range shares {
		zone := fmt.Sprint("z", i)
		q.Add("first of "+zone, in(zone), at(0))
		mustStart(t, q, at(0), "first of "+zone)
		q.Add("second of "+zone, in(zone), at(time.Duration(shares-i)))
	}
	for range shares/mostMoves + 1 {
		mustHold(t, q, seconds(0.5))
	}
	require.Equal(t, shares, q.limits.closed.len())
	for range 3 {
		before := q.limits.closed.len()
		mustHold(t, q, seconds(1))
		require.Equal(t, before-mostMoves, q.limits.closed.len())
		next, ok := q.Next(seconds(1))
		require.True(t, ok)
		require.False(t, next.After(seconds(1)), "there is more to open")
	}
	mustStart(t, q, seconds(1), fmt.Sprint("second of z", shares-1))
}

// A share delays the items that wait in it.
func TestC3DelayedCountsWhatWaitsForAShare(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	q, err := NewQueue(QueueConfig[string, string]{
		Budgets: []Budget[string, string]{
			{Name: "all", Limit: 1, Burst: 3},
			{Name: "color", ShareOf: func(_, color string) string { return color }, Limit: 0.1},
		},
	}, now)
	require.NoError(t, err)
	for _, key := range []string{"a", "b", "c", "d"} {
		q.Add(key, "red", now)
	}
	q.Add("e", "blue", now)
	_, ok := q.Start(now)
	require.True(t, ok)
	_, ok = q.Start(now)
	require.True(t, ok, "the blue one")
	require.Equal(t, 3, q.Delayed("color"))
	q.Add("f", "green", now)
	_, ok = q.Start(now)
	require.True(t, ok)
	require.Zero(t, q.Delayed("all"))
	require.Zero(t, q.Delayed("none"))
	q.Remove("b")
	require.Equal(t, 2, q.Delayed("color"))
}
