package timedqueue

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

func TestQ10KeyChangesItsShareWithItsValue(t *testing.T) {
	q := newZones(t, perZone(0, 1))
	for i, zone := range []string{"z1", "z2", "z1", "z2"} {
		q.Add(string(rune('a'+i)), in(zone), at(time.Second))
	}
	mustHold(t, q, at(time.Second)) // all of them wait for their shares
	require.True(t, q.SetValue("c", in("z2")))
	require.False(t, q.SetValue("absent", in("z2")))
	require.True(t, q.SetValue("b", in("z2")), "it is there already")

	q.SetLimit(at(time.Second), "zone", "z2", rate.Inf)
	require.Equal(t, []string{"b", "c", "d"}, startAll(q, at(time.Second)), "the order is kept")
	q.SetValue("a", in("z3"))
	q.SetLimit(at(time.Second), "zone", "z3", rate.Inf)
	require.Equal(t, "z3", mustStart(t, q, at(time.Second), "a").Value.zone)
}

// A key that waits for a token of one share moves to another, and then waits
// only for that one.
func TestQ10KeyWaitsOnlyForTheShareThatItIsIn(t *testing.T) {
	q := newZones(t, perZone(1, 1))
	for _, key := range []string{"p", "q", "r"} {
		q.Add(key, in("east"), at(0))
	}
	q.Add("s", in("west"), at(0))
	q.SetLimit(at(0), "zone", "east", 0)
	q.SetLimit(at(0), "zone", "west", 0)
	mustHold(t, q, seconds(1))
	q.SetValue("p", in("north"))
	mustStart(t, q, seconds(2), "p")
	q.SetValue("q", in("west"))
	mustHold(t, q, seconds(100))
	q.SetValue("r", in("west"))
	q.SetLimit(seconds(100), "zone", "west", 1)
	mustStart(t, q, seconds(100), "q")
	mustHold(t, q, seconds(100.999))
	mustStart(t, q, seconds(101), "r")
	mustStart(t, q, seconds(102), "s")
}

func TestQ10ChangeOfShareKeepsPlaceAndAttempts(t *testing.T) {
	q := newZones(t, perZone(1, 1))
	q.SetLimit(at(0), "zone", "red", 0)
	q.Add("p", in("red"), seconds(10))
	q.Add("q", in("red"), seconds(10))
	q.Add("r", in("blue"), seconds(10))
	q.Finish(seconds(10), mustStart(t, q, seconds(10), "r"), failed)
	q.SetLimit(seconds(10), "zone", "blue", 0)
	mustHold(t, q, seconds(20))
	q.InheritShare(seconds(20), "zone", "green", "white") // there is no white share
	q.SetValue("r", in("green"))
	q.SetValue("p", in("green"))
	q.SetValue("q", in("green"))
	require.Zero(t, mustStart(t, q, seconds(21), "p").Attempts, "it is due since 10 s")
	require.Zero(t, mustStart(t, q, seconds(22), "q").Attempts)
	require.Equal(t, 1, mustStart(t, q, seconds(23), "r").Attempts,
		"it is to be tried again since 11 s")
}

func TestQ10ChangeOfShareDuringAnActionCountsFromTheNextAttempt(t *testing.T) {
	for _, outcome := range allOutcomes {
		t.Run(string(outcome), func(t *testing.T) {
			q := newZones(t, perZone(rate.Inf, 1))
			q.Add("a", in("z1"), at(0))
			item := mustStart(t, q, at(0), "a")
			require.True(t, q.SetValue("a", in("z2")))
			require.Equal(t, 1, q.Len())
			mustHold(t, q, at(time.Hour))
			q.SetLimit(at(0), "zone", "z1", 0)
			q.Finish(at(0), item, Result{Outcome: outcome, At: at(0)})
			if q.Len() > 0 {
				item = mustStart(t, q, at(2*time.Hour), "a")
				require.Equal(t, "z2", item.Value.zone)
				q.Finish(at(2*time.Hour), item, done)
			}
			requireNothingLeft(t, q)
		})
	}
}

func TestQ10MovesOfACanceledActionLeaveNothing(t *testing.T) {
	q := newZones(t, perZone(rate.Inf, 1))
	q.Add("a", in("z1"), at(0))
	item := mustStart(t, q, at(0), "a")
	for _, zone := range []string{"z2", "z3", "z1"} {
		q.SetValue("a", in(zone))
	}
	require.True(t, q.Remove("a"))
	require.False(t, q.SetValue("a", in("z4")))
	require.True(t, q.Add("a", in("z5"), at(0)))
	require.False(t, q.Add("a", in("z6"), at(0)))
	mustHold(t, q, at(0)) // never two actions for one key
	q.Finish(at(0), item, failed)
	q.Finish(at(0), item, done) // again, and late
	require.Equal(t, "z5", mustStart(t, q, at(0), "a").Value.zone)
}

// renamed starts what it can twice a second for a minute, while the zone has
// another name every two seconds.
func renamed(t *testing.T, q *zones, rename func(now time.Time, name, left string)) (started int) {
	t.Helper()
	left := "zone 0"
	for half := range 121 {
		now := seconds(float64(half) / 2)
		if half%4 == 3 {
			name := fmt.Sprint("zone ", half/4+1)
			rename(now, name, left)
			left = name
		}
		for item, ok := q.Start(now); ok; item, ok = q.Start(now) {
			started++
			q.Finish(now, item, done)
		}
	}
	return started
}

// A zone that is renamed 30 times in a minute has 1 + 60*0.1 tokens in it.
func TestQ10RenamedShareHasNoMoreTokens(t *testing.T) {
	keys := manyKeys(100)
	for name, test := range map[string]struct {
		waits  bool // the keys are in the queue at the time
		remove bool // the name that was left is removed
	}{
		"keys in the queue":                       {true, false},
		"keys in the queue, names removed":        {true, true},
		"keys that come later":                    {false, false},
		"keys that come later, and names removed": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			q := newZones(t, perZone(0.1, 1))
			for _, key := range keys {
				q.Add(key, in("zone 0"), at(0))
			}
			started := renamed(t, q, func(now time.Time, name, left string) {
				if !test.waits {
					q.InheritShare(now, "zone", name, left)
				}
				for _, key := range keys {
					if test.waits {
						q.SetValue(key, in(name))
					} else if q.Remove(key) {
						q.Add(key, in(name), at(0))
					}
				}
				if test.remove {
					q.RemoveShare(now, "zone", left)
				}
			})
			require.Equal(t, 7, started)
		})
	}
}

// Names that come back give no more tokens either, if former ones are removed.
// A share that came from another merges back into it.
func TestQ10RenamingBackAndForthGivesNoMoreTokens(t *testing.T) {
	keys := manyKeys(100)
	for names := 2; names <= 4; names++ {
		q := newZones(t, perZone(0.1, 1))
		for _, key := range keys {
			q.Add(key, in("name 0"), at(0))
		}
		change, left := 0, "name 0"
		started := renamed(t, q, func(now time.Time, _, _ string) {
			change++
			name := fmt.Sprint("name ", change%names)
			for _, key := range keys {
				q.SetValue(key, in(name))
			}
			q.RemoveShare(now, "zone", left)
			left = name
		})
		require.Equal(t, 7, started, "%d names", names)
	}
}

// A share that merges back into its origin leaves that no more tokens than it
// had.
func TestQ10ShareThatReturnsIsCountedInItsOrigin(t *testing.T) {
	q := newZones(t, perZone(0.1, 2))
	for _, key := range []string{"a1", "a2", "b1"} {
		q.Add(key, in(key[:1]), seconds(1))
	}
	q.Finish(seconds(1), mustStart(t, q, seconds(1), "a1"), done)
	q.SetValue("a2", in("b"))
	q.SetValue("b1", in("a"))
	q.Finish(seconds(1), mustStart(t, q, seconds(1), "a2"), done)
	q.RemoveShare(seconds(1), "zone", "b")
	requireShares(t, q, "zone", "a")
	mustHold(t, q, seconds(10.999)) // b has used what a had
	mustStart(t, q, seconds(11), "b1")
}

// Nor do they with actions that last longer than a name. A share that is
// removed while tokens of it are out merges back when those are settled. If its
// name comes back earlier, it has no more tokens than the former share.
func TestQ10RenamingBackAndForthDuringActionsGivesNoMoreTokens(t *testing.T) {
	keys := manyKeys(100)
	for names := 2; names <= 5; names++ {
		q := newZones(t, perZone(0.1, 1))
		for _, key := range keys {
			q.Add(key, in("name 0"), at(0))
		}
		started := 0
		var open []Item[string, node]
		for second := range 61 {
			now := seconds(float64(second))
			if len(open) > 0 && second%3 == 0 {
				q.Finish(now, open[0], failed)
				open = open[1:]
			}
			for item, ok := q.Start(now); ok; item, ok = q.Start(now) {
				started++
				open = append(open, item)
			}
			if second%2 == 1 {
				for _, key := range keys {
					q.SetValue(key, in(fmt.Sprint("name ", (second+1)/2%names)))
				}
				q.RemoveShare(now, "zone", fmt.Sprint("name ", (second-1)/2%names))
			}
		}
		require.LessOrEqual(t, started, 7, "%d names", names)
	}
}

// A share whose limit is zero never fills up. It merges back into its origin.
func TestQ10RenamesAtLimitZeroLeakNoShares(t *testing.T) {
	q := newZones(t, perZone(0, 1))
	q.SetLimit(at(0), "zone", "zone 0", 1)
	q.Add("first", in("zone 0"), at(0))
	q.Finish(at(0), mustStart(t, q, at(0), "first"), done)
	q.SetLimit(at(0), "zone", "zone 0", 0)
	q.Add("a", in("zone 0"), at(0))
	mustHold(t, q, at(0))
	for i := range 10_000 {
		now := at(time.Duration(i) * time.Second)
		q.SetValue("a", in(fmt.Sprint("zone ", i+1)))
		q.RemoveShare(now, "zone", fmt.Sprint("zone ", i))
		mustHold(t, q, now)
	}
	require.LessOrEqual(t, len(q.budget("zone").shares), 2)
	require.LessOrEqual(t, len(q.lanes), 10)
}

// A share refers to its origin only as long as that exists.
func TestQ10LongChainOfRenamesIsForgotten(t *testing.T) {
	const renames = 20_000
	q := newZones(t, perZone(1, 1))
	rename := func(from, to int) {
		for i := from; i < to; i++ { // each share is full by the time it is left
			now := seconds(float64(2 * i))
			q.Add("a", in(fmt.Sprint("zone ", i)), now)
			item := mustStart(t, q, now, "a")
			q.SetValue("a", in(fmt.Sprint("zone ", i+1)))
			q.Finish(now, item, done)
		}
	}
	rename(0, 1000)
	before := heapInUse()
	rename(1000, renames)
	require.Less(t, heapInUse()-before, 200_000)
	require.LessOrEqual(t, len(q.budget("zone").shares), 2*keptIdle)
}

// A share that came from a full one by a move has all its tokens.
func TestQ10NewShareOfAMoveStartsWithTheTokensLeft(t *testing.T) {
	q := newZones(t, perZone(0.1, 3))
	for _, key := range manyKeys(10) {
		q.Add(key, in("old"), at(0))
	}
	require.Len(t, startAll(q, at(0)), 3)
	q.InheritShare(at(0), "zone", "new", "old")
	q.InheritShare(at(0), "zone", "of another", "unknown")
	q.InheritShare(at(0), "rack", "new", "old") // there is no such budget
	for i, key := range []string{"new 1", "new 2", "of another 1", "of another 2"} {
		q.Add(key, in(key[:len(key)-2]), at(time.Duration(i)))
	}
	require.Equal(t, []string{"of another 1", "of another 2"}, startAll(q, seconds(9.999)))
	require.Contains(t, startAll(q, seconds(10)), "new 1")
}

// A key that changes its rank and its share at once leaves all shares in order.
// That holds also if the other share was removed and is used again.
func TestQ2SetValueToARemovedShareKeepsTheOrderOfShares(t *testing.T) {
	const shares = 40
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 2))
		less := func(a, b node) bool { return a.rank < b.rank }
		q, err := NewQueue(zoneConfig{Budgets: []zoneBudget{perZone(1, 5)}, Less: less}, epoch)
		require.NoError(t, err)
		for i := range shares {
			zone := fmt.Sprint("z", i)
			q.SetLimit(at(0), "zone", zone, 0)
			q.Add(zone, node{zone: zone, rank: random.IntN(1000)}, at(0))
		}
		mustHold(t, q, at(0)) // all wait in their shares
		for i := range shares {
			q.SetLimit(at(0), "zone", fmt.Sprint("z", i), rate.Inf)
		}
		for range 20 {
			to := fmt.Sprint("z", random.IntN(shares))
			q.RemoveShare(at(0), "zone", to)
			q.SetValue(fmt.Sprint("z", random.IntN(shares)), node{zone: to, rank: random.IntN(1000)})
			require.NoError(t, soundness(q), "seed %d", seed)
		}
	}
}
