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
	q := newZones(t, heldZones(1))
	for i, zone := range []string{"z1", "z2", "z1", "z2"} {
		q.Add(string(rune('a'+i)), in(zone), at(time.Second))
	}
	mustHold(t, q, at(time.Second)) // all of them wait for their shares
	require.True(t, setValue(q, "c", in("z2")))
	require.False(t, setValue(q, "absent", in("z2")))
	require.True(t, setValue(q, "b", in("z2")), "it is there already")

	q.SetLimit(at(time.Second), "zone", "z2", rate.Inf)
	require.Equal(t, []string{"b", "c", "d"}, startAll(q, at(time.Second)), "the order is kept")
	setValue(q, "a", in("z3"))
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
	setValue(q, "p", in("north"))
	mustStart(t, q, seconds(2), "p")
	setValue(q, "q", in("west"))
	mustHold(t, q, seconds(100))
	setValue(q, "r", in("west"))
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
	setValue(q, "r", in("green"))
	setValue(q, "p", in("green"))
	setValue(q, "q", in("green"))
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
			require.True(t, setValue(q, "a", in("z2")))
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
		setValue(q, "a", in(zone))
	}
	require.True(t, q.Remove("a"))
	require.False(t, setValue(q, "a", in("z4")))
	require.True(t, q.Add("a", in("z5"), at(0)))
	require.False(t, q.Add("a", in("z6"), at(0)))
	mustHold(t, q, at(0)) // never two actions for one key
	q.Finish(at(0), item, failed)
	q.Finish(at(0), item, done) // again, and late
	require.Equal(t, "z5", mustStart(t, q, at(0), "a").Value.zone)
}

// A renaming is a minute in which a zone has another name every two seconds. It
// counts the actions, which last a while.
type renaming struct {
	queue  *Queue[string, *node]
	rename func(now time.Time, name string) // of all keys
	remove bool                             // the name that was left is removed
	names  int                              // they come back after so many
	lasts  int                              // half seconds that an action lasts
	nodes  map[string]*node
}

func newRenaming(t *testing.T) *renaming {
	t.Helper()
	q, err := NewQueue(QueueConfig[string, *node]{Budgets: []Budget[string, *node]{{
		Name: "zone", Limit: 0.1, ShareOf: func(_ string, n *node) string { return n.zone },
	}}}, epoch)
	require.NoError(t, err)
	r := &renaming{queue: q, names: 1000, nodes: map[string]*node{}}
	for _, key := range manyKeys(100) {
		r.nodes[key] = &node{zone: "zone 0"}
		q.Add(key, r.nodes[key], at(0))
	}
	return r
}

// run returns how many actions were started.
func (r *renaming) run() (started int) {
	type running struct {
		item Item[string, *node]
		ends int
	}
	var open []running
	for half := range 121 {
		now := seconds(float64(half) / 2)
		if half%4 == 3 {
			r.rename(now, fmt.Sprint("zone ", (half/4+1)%r.names))
			if r.remove {
				r.queue.RemoveShare(now, "zone", fmt.Sprint("zone ", half/4%r.names))
			}
		}
		for item, ok := r.queue.Start(now); ok; item, ok = r.queue.Start(now) {
			started++
			open = append(open, running{item, half + r.lasts})
		}
		for len(open) > 0 && open[0].ends <= half {
			r.queue.Finish(now, open[0].item, failed)
			open = open[1:]
		}
	}
	return started
}

// The ways in which a caller renames the zone of all nodes.
var renames = map[string]func(r *renaming) func(now time.Time, name string){
	"Set": func(r *renaming) func(time.Time, string) {
		return func(now time.Time, name string) {
			for key := range r.nodes {
				r.queue.Set(key, &node{zone: name}, now)
			}
		}
	},
	"Set of a value changed in place": func(r *renaming) func(time.Time, string) {
		return func(now time.Time, name string) {
			for key, n := range r.nodes {
				n.zone = name
				r.queue.Set(key, n, now)
			}
		}
	},
	"Refile": func(r *renaming) func(time.Time, string) {
		return func(_ time.Time, name string) {
			for key, n := range r.nodes {
				n.zone = name
				e, _ := r.queue.Find(key)
				r.queue.Refile(e)
			}
		}
	},
	"a limit for each name, and new keys": func(r *renaming) func(time.Time, string) {
		return func(now time.Time, name string) {
			r.queue.SetLimit(now, "zone", name, 0.1)
			for key := range r.nodes {
				if r.queue.Remove(key) {
					r.queue.Add(key, &node{zone: name}, at(0))
				}
			}
		}
	},
	"a limit for each name after new keys": func(r *renaming) func(time.Time, string) {
		return func(now time.Time, name string) {
			for key := range r.nodes {
				if r.queue.Remove(key) {
					r.queue.Add(key, &node{zone: name}, at(0))
				}
			}
			r.queue.SetLimit(now, "zone", name, 0.1)
		}
	},
}

// A zone that is renamed 30 times in a minute starts at most 1 + 60*0.1. With
// the burst of each name it would be 31.
func TestQ10RenamingAZoneEarnsNoTokens(t *testing.T) {
	for name, rename := range renames {
		for _, remove := range []bool{false, true} {
			for _, lasts := range []int{0, 1, 7} {
				r := newRenaming(t)
				r.rename, r.remove, r.lasts = rename(r), remove, lasts
				started := r.run()
				require.Positive(t, started)
				require.LessOrEqual(t, started, 7, "%s, removed %v, actions last %d", name, remove, lasts)
			}
		}
	}
}

// Names that come back earn no tokens either, if former ones are removed.
// Without that, each name has the rate of a zone, but no burst.
func TestQ10RenamingBackAndForthEarnsNoTokens(t *testing.T) {
	for name, rename := range renames {
		for names := 2; names <= 5; names++ {
			for _, lasts := range []int{0, 1, 7} {
				r := newRenaming(t)
				r.rename, r.remove, r.names, r.lasts = rename(r), true, names, lasts
				require.LessOrEqual(t, r.run(), 7, "%s, %d names", name, names)
				r = newRenaming(t)
				r.rename, r.names, r.lasts = rename(r), names, lasts
				require.LessOrEqual(t, r.run(), 1+6*names, "%s, %d names", name, names)
			}
		}
	}
}

// A name that stays long enough earns as any other.
func TestQ10RenamedZoneGoesOnAtItsRate(t *testing.T) {
	q := newZones(t, perZone(0.1, 5))
	for _, key := range manyKeys(10) {
		q.Add(key, in("old"), at(0))
	}
	require.Len(t, startAll(q, at(0)), 5)
	for _, key := range manyKeys(10) {
		setValue(q, key, in("new"))
	}
	require.Empty(t, startAll(q, seconds(9.999)))
	require.Len(t, startAll(q, seconds(10)), 1)
	require.Empty(t, startAll(q, seconds(19.999)))
	require.Len(t, startAll(q, seconds(20)), 1)
}

// A share that is in use keeps its tokens when a key moves there. One that only
// new keys have used begins full.
func TestQ10OnlyANewShareOfAMoveBeginsEmpty(t *testing.T) {
	q := newZones(t, perZone(0.1, 2), perRack(0.1, 2))
	for i, key := range []string{"a1", "a2", "a3", "b1"} {
		q.Add(key, node{zone: key[:1], rack: "r"}, at(time.Duration(i)))
	}
	require.Equal(t, []string{"a1", "a2"}, startAll(q, at(9)), "the rack has no more")
	q.SetLimit(at(9), "rack", "r", rate.Inf)
	mustStart(t, q, at(9), "b1")
	setValue(q, "a3", node{zone: "b", rack: "r"})
	mustStart(t, q, at(9), "a3")

	// Another zone, and all of the key's shares that are not there begin empty.
	q.Add("moves", node{zone: "c", rack: "q"}, at(time.Hour))
	setValue(q, "moves", node{zone: "d", rack: "q"})
	for _, key := range []string{"new 1", "new 2"} {
		q.Add(key, node{zone: key, rack: "q"}, at(9))
	}
	mustHold(t, q, seconds(9))
	require.Len(t, startAll(q, seconds(10.1)), 1)
}

// SetLimit before the first Start is part of the setup, and takes no burst.
func TestQ10ShareThatSetLimitCreatesBeginsEmptyAfterTheFirstStart(t *testing.T) {
	q := newZones(t, heldZones(2))
	q.SetLimit(at(0), "zone", "a", 0.1)
	for i, key := range []string{"a1", "a2", "a3", "b1"} {
		q.Add(key, in(key[:1]), at(time.Duration(i)))
	}
	require.Equal(t, []string{"a1", "a2"}, startAll(q, at(9)))
	q.SetLimit(seconds(1), "zone", "b", 0.1) // Start has created it, held and empty
	q.SetLimit(seconds(1), "zone", "c", 0.1)
	q.Add("c1", in("c"), at(9))
	mustHold(t, q, seconds(9.999))
	require.Equal(t, []string{"a3"}, startAll(q, seconds(10.5)))
	require.Equal(t, []string{"b1", "c1"}, startAll(q, seconds(11)))
}

// A share whose limit is zero never fills up. It is forgotten all the same.
func TestQ10RenamesAtLimitZeroLeakNoShares(t *testing.T) {
	for _, remove := range []bool{false, true} {
		q := newZones(t, heldZones(1))
		q.SetLimit(at(0), "zone", "zone 0", 1)
		q.Add("first", in("zone 0"), at(0))
		q.Finish(at(0), mustStart(t, q, at(0), "first"), done)
		q.SetLimit(at(0), "zone", "zone 0", 0)
		q.Add("a", in("zone 0"), at(0))
		mustHold(t, q, at(0))
		most := keptIdle + 2
		for i := range 10_000 {
			now := at(time.Duration(i) * time.Second)
			setValue(q, "a", in(fmt.Sprint("zone ", i+1)))
			if remove {
				q.RemoveShare(now, "zone", fmt.Sprint("zone ", i))
				most = 2
			}
			mustHold(t, q, now)
		}
		require.LessOrEqual(t, len(q.limits.budget("zone").shares), most)
		require.LessOrEqual(t, len(q.limits.lanes), keptIdle+10)
	}
}

// Shares that were left do not stay.
func TestQ10LongChainOfRenamesIsForgotten(t *testing.T) {
	const renames = 20_000
	q := newZones(t, perZone(1, 1))
	rename := func(from, to int) {
		for i := from; i < to; i++ { // each share is full by the time it is left
			now := seconds(float64(2 * i))
			q.Add("a", in(fmt.Sprint("zone ", i)), now)
			item := mustStart(t, q, now, "a")
			setValue(q, "a", in(fmt.Sprint("zone ", i+1)))
			q.Finish(now, item, done)
		}
	}
	rename(0, 1000)
	before := heapInUse()
	rename(1000, renames)
	require.Less(t, heapInUse()-before, 200_000)
	require.LessOrEqual(t, len(q.limits.budget("zone").shares), 2*keptIdle)
}

// A key that changes its rank and its share at once leaves all shares in order.
// That holds also if the other share was removed and is used again.
func TestQ2MoveToARemovedShareKeepsTheOrderOfShares(t *testing.T) {
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
			setValue(q, fmt.Sprint("z", random.IntN(shares)), node{zone: to, rank: random.IntN(1000)})
			require.NoError(t, soundness(q), "seed %d", seed)
		}
	}
}
