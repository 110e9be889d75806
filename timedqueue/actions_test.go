package timedqueue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// demand.md, timedqueue: upstream runs the action and then removes its key by
// name, whatever has become of it in between.
func TestQ5RemoveDuringActionWins(t *testing.T) {
	for _, outcome := range []Outcome{Done, Nothing, Failed} {
		t.Run(outcome.String(), func(t *testing.T) {
			q := newTestQueue(t, unlimited)
			q.Add("a", 1, at(0))
			item := mustStart(t, q, at(0), "a")
			require.True(t, q.Remove("a"))
			require.False(t, q.Remove("a"))
			require.False(t, q.Refresh("a", 2))
			require.False(t, q.Reschedule("a", at(0)))
			_, ok := q.Get("a")
			require.False(t, ok)
			require.Zero(t, q.Len())

			q.Finish(at(0), item, Result{Outcome: outcome})
			require.Zero(t, q.Len())
			mustHold(t, q, at(time.Hour))
			requireNothingLeft(t, q)
		})
	}
}

func TestQ5ReAddDuringActionWaitsForItsEnd(t *testing.T) {
	for _, outcome := range []Outcome{Done, Nothing, Failed} {
		t.Run(outcome.String(), func(t *testing.T) {
			q := newTestQueue(t, unlimited)
			q.Add("a", 1, at(-time.Minute))
			q.Finish(at(-time.Minute), mustStart(t, q, at(-time.Minute), "a"), Result{Outcome: Failed})
			old := mustStart(t, q, at(time.Second), "a")
			require.Equal(t, 1, old.Tries)
			q.Remove("a")
			require.True(t, q.Add("a", 2, at(time.Second)))
			require.False(t, q.Add("a", 3, at(0)))
			require.Equal(t, 1, q.Len())
			mustHold(t, q, at(time.Hour)) // never two actions for one key
			_, ok := q.Next(at(time.Hour))
			require.False(t, ok)

			q.Finish(at(time.Hour), old, Result{Outcome: outcome})
			require.Equal(t, 1, q.Len(), "the old result does not touch the new entry")
			item := mustStart(t, q, at(time.Hour), "a")
			require.Equal(t, 2, item.Value)
			require.Equal(t, at(time.Second), item.Due)
			require.Zero(t, item.Tries)
			q.Finish(at(time.Hour), item, Result{})
			requireNothingLeft(t, q)
		})
	}
}

func TestQ5RemoveOfTheReAddedKeyHolds(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 1, at(0))
	item := mustStart(t, q, at(0), "a")
	for range 3 {
		require.True(t, q.Remove("a"))
		require.True(t, q.Add("a", 2, at(0)))
	}
	require.True(t, q.Remove("a"))
	q.Finish(at(0), item, Result{Outcome: Failed})
	mustHold(t, q, at(time.Hour))
	requireNothingLeft(t, q)
}

func TestQ5ReAddedKeyGoesBehindThoseThatWaited(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 0, at(0))
	item := mustStart(t, q, at(0), "a")
	q.Add("b", 0, at(0))
	q.Remove("a")
	q.Add("a", 0, at(0))
	q.Finish(at(0), item, Result{})
	require.Equal(t, []string{"b", "a"}, startAll(q, at(0)))
}

func TestQ5SecondFinishChangesNothing(t *testing.T) {
	q := newTestQueue(t, Config{Limit: 1, Backoff: unlimited.Backoff})
	q.Add("a", 0, at(0))
	first := mustStart(t, q, at(0), "a")
	q.Finish(at(0), first, Result{Outcome: Failed})
	for range 3 {
		q.Finish(at(0), first, Result{Outcome: Nothing}) // neither leaves nor gives a token
	}
	require.Equal(t, 1, q.Len())
	second := mustStart(t, q, at(time.Second), "a")
	require.Equal(t, 1, second.Tries)

	q.Finish(at(time.Second), first, Result{Outcome: Done}) // late
	require.Equal(t, 1, q.Len())
	mustHold(t, q, at(time.Hour)) // the second action is still under way
	q.Finish(at(time.Hour), second, Result{})
	require.Zero(t, q.Len())
	q.Finish(at(time.Hour), second, Result{Outcome: Failed})
	requireNothingLeft(t, q)
}

func TestQ5FinishOfAnotherQueuesItemChangesNothing(t *testing.T) {
	mine, theirs := newTestQueue(t, unlimited), newTestQueue(t, unlimited)
	for _, q := range []*Queue[string, int]{mine, theirs} {
		q.Add("a", 0, at(0))
	}
	item, foreign := mustStart(t, mine, at(0), "a"), mustStart(t, theirs, at(0), "a")
	mine.Finish(at(0), foreign, Result{})
	mine.Finish(at(0), Item[string, int]{Key: "a"}, Result{})
	mine.Finish(at(0), Item[string, int]{Key: "b"}, Result{})
	require.Equal(t, 1, mine.Len())
	mine.Finish(at(0), item, Result{})
	require.Zero(t, mine.Len())
}

func TestQ5FinishOfAnItemThatGetShowedChangesNothing(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 0, at(0))
	mustStart(t, q, at(0), "a")
	shown, ok := q.Get("a")
	require.True(t, ok)
	q.Finish(at(0), shown, Result{Outcome: Failed})
	mustHold(t, q, at(time.Hour)) // the action is still under way
}

func TestQ6ZeroHoldsAStoredToken(t *testing.T) {
	q := newTestQueue(t, Config{Limit: 1, Burst: 3})
	q.Add("a", 0, at(0))
	q.SetLimit(at(0), 0)
	mustHold(t, q, at(0))
	mustHold(t, q, at(time.Hour))
	_, ok := q.Next(at(time.Hour))
	require.False(t, ok, "only a change of the queue makes a difference")
	require.Equal(t, 1, q.Len(), "nothing is lost")

	q.SetLimit(at(time.Hour), 1)
	mustStart(t, q, at(time.Hour), "a")
}

func TestQ6ZeroHoldsAReturnedToken(t *testing.T) {
	q := newTestQueue(t, Config{Limit: 1})
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	item := mustStart(t, q, at(0), "a")
	q.SetLimit(at(0), 0)
	q.Finish(at(0), item, Result{Outcome: Nothing})
	mustHold(t, q, at(time.Hour))
	q.SetLimit(at(time.Hour), 0.001)
	mustStart(t, q, at(time.Hour), "b") // the token was kept
}

func TestQ6ZeroIsTheDefault(t *testing.T) {
	q := newTestQueue(t, Config{})
	q.Add("a", 0, at(0))
	mustHold(t, q, at(time.Hour))
	require.Zero(t, q.Limit())
}

func TestQ6NothingIsEarnedAtZero(t *testing.T) {
	q := newTestQueue(t, Config{Limit: 1, Burst: 2})
	for _, key := range []string{"a", "b", "c", "d"} {
		q.Add(key, 0, at(0))
	}
	require.Equal(t, []string{"a", "b"}, startAll(q, at(0)))
	q.SetLimit(at(500*time.Millisecond), 0)
	q.SetLimit(at(time.Hour), 1)
	mustHold(t, q, at(time.Hour+499*time.Millisecond))
	mustStart(t, q, at(time.Hour+500*time.Millisecond), "c") // the half token was kept
	mustHold(t, q, at(time.Hour+time.Second))
}

func TestQ6SetLimitNeverRaisesTokens(t *testing.T) {
	for _, limits := range [][]rate.Limit{
		{100}, {0.01, 100}, {0, 100}, {rate.Inf, 1}, {rate.Limit(math.Inf(1)), 1},
		{-1, 1}, {rate.Limit(math.NaN()), 1}, {math.SmallestNonzeroFloat64, 1}, {math.MaxFloat64 / 2, 1},
	} {
		q := newTestQueue(t, Config{Limit: 1, Burst: 2})
		for _, key := range []string{"a", "b", "c", "d", "e"} {
			q.Add(key, 0, at(0))
		}
		require.Len(t, startAll(q, at(0)), 2)
		for _, limit := range limits {
			q.SetLimit(at(0), limit)
		}
		require.Empty(t, startAll(q, at(0)), "limits %v", limits)
		require.LessOrEqual(t, len(startAll(q, at(time.Minute))), 2, "limits %v: more than the burst", limits)
	}
}

func TestQ6SetLimitCountsWhatWasEarnedAtTheOldRate(t *testing.T) {
	q := newTestQueue(t, Config{Limit: 0.1})
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	mustStart(t, q, at(0), "a")
	q.SetLimit(at(5*time.Second), 0.01) // half a token, the rest ten times slower
	next, ok := q.Next(at(5 * time.Second))
	require.True(t, ok)
	require.WithinDuration(t, at(55*time.Second), next, 2*time.Nanosecond)
	mustHold(t, q, at(54*time.Second))
	mustStart(t, q, at(55*time.Second), "b")
}

func TestQ6HeldKeysCanBeChanged(t *testing.T) {
	q := newTestQueue(t, Config{})
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	q.Add("c", 0, at(0))
	q.Remove("a")
	q.Reschedule("b", at(2*time.Hour))
	q.SetLimit(at(time.Hour), rate.Inf)
	require.Equal(t, []string{"c"}, startAll(q, at(time.Hour)))
	require.Equal(t, []string{"b"}, startAll(q, at(2*time.Hour)))
}

func TestQ8FailedItemBacksOff(t *testing.T) {
	q := newTestQueue(t, unlimited) // 1 s, at most 8 s
	q.Add("a", 0, at(0))
	now := time.Duration(0)
	for try, seconds := range []int{1, 2, 4, 8, 8, 8} {
		wait := time.Duration(seconds) * time.Second
		item := mustStart(t, q, at(now), "a")
		require.Equal(t, try, item.Tries)
		q.Finish(at(now), item, Result{Outcome: Failed})
		mustHold(t, q, at(now+wait-1))
		now += wait
	}
	q.Remove("a")
	q.Add("a", 0, at(now))
	require.Zero(t, mustStart(t, q, at(now), "a").Tries, "a new entry starts anew")
}

func TestQ8FailedItemDoesNotDelayOthers(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("failing", 0, at(0))
	q.Add("b", 0, at(0))
	q.Add("c", 0, at(500*time.Millisecond))
	q.Finish(at(0), mustStart(t, q, at(0), "failing"), Result{Outcome: Failed})
	mustStart(t, q, at(0), "b")
	next, ok := q.Next(at(0))
	require.True(t, ok)
	require.Equal(t, at(500*time.Millisecond), next)
	mustStart(t, q, next, "c")
	mustStart(t, q, at(time.Second), "failing")
}

func TestQ8ActionChoosesItsWait(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 0, at(0))
	q.Finish(at(0), mustStart(t, q, at(0), "a"), Result{Outcome: Failed, Wait: time.Minute})
	mustHold(t, q, at(time.Minute-1))
	item := mustStart(t, q, at(time.Minute), "a")
	require.Equal(t, 1, item.Tries)
	q.Finish(at(time.Minute), item, Result{Outcome: Done, Wait: time.Minute})
	require.Zero(t, q.Len(), "only a failure waits")
}

// requireNothingLeft looks inside: an empty queue holds no trace of its keys.
func requireNothingLeft(t *testing.T, q *Queue[string, int]) {
	t.Helper()
	require.Zero(t, q.Len())
	require.Empty(t, q.entries)
	require.Empty(t, q.waiting.places)
}
