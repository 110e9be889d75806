package timedqueue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// demand.md, timedqueue: upstream runs the action and then removes its key by
// name, whatever has happened to it in between.
func TestQ5RemoveDuringActionWins(t *testing.T) {
	for _, outcome := range allOutcomes {
		t.Run(string(outcome), func(t *testing.T) {
			q := newTestQueue(t, unlimited)
			q.Add("a", 1, at(0))
			item := mustStart(t, q, at(0), "a")
			require.True(t, q.Remove("a"))
			require.False(t, q.Remove("a"))
			require.False(t, q.SetValue("a", 2))
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
	for _, outcome := range allOutcomes {
		t.Run(string(outcome), func(t *testing.T) {
			q := newTestQueue(t, unlimited)
			q.Add("a", 1, at(-time.Minute))
			q.Finish(at(-time.Minute), mustStart(t, q, at(-time.Minute), "a"),
				Result{Outcome: OutcomeFailed})
			old := mustStart(t, q, at(time.Second), "a")
			require.Equal(t, 1, old.Attempts)
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
			require.Zero(t, item.Attempts)
			q.Finish(at(time.Hour), item, done)
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
	q.Finish(at(0), item, Result{Outcome: OutcomeFailed})
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
	q.Finish(at(0), item, done)
	require.Equal(t, []string{"b", "a"}, startAll(q, at(0)))
}

func TestQ5ReAddedKeyGoesBeforeThoseAddedLater(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 0, at(0))
	item := mustStart(t, q, at(0), "a")
	q.Remove("a")
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	q.Finish(at(0), item, done)
	require.Equal(t, []string{"a", "b"}, startAll(q, at(0)))
}

func TestQ5SecondFinishChangesNothing(t *testing.T) {
	q := newTestQueue(t, withBackoff(limited(1, 1), unlimited.Backoff))
	q.Add("a", 0, at(0))
	first := mustStart(t, q, at(0), "a")
	q.Finish(at(0), first, Result{Outcome: OutcomeFailed})
	for range 3 {
		q.Finish(at(0), first, Result{Outcome: OutcomeSkipped}) // neither leaves nor gives a token
	}
	require.Equal(t, 1, q.Len())
	second := mustStart(t, q, at(time.Second), "a")
	require.Equal(t, 1, second.Attempts)

	q.Finish(at(time.Second), first, Result{Outcome: OutcomeDone}) // late
	require.Equal(t, 1, q.Len())
	mustHold(t, q, at(time.Hour)) // the second action is still under way
	q.Finish(at(time.Hour), second, done)
	require.Zero(t, q.Len())
	q.Finish(at(time.Hour), second, Result{Outcome: OutcomeFailed})
	requireNothingLeft(t, q)
}

func TestQ5FinishOfAnotherQueuesItemChangesNothing(t *testing.T) {
	mine, theirs := newTestQueue(t, unlimited), newTestQueue(t, unlimited)
	for _, q := range []*Queue[string, int]{mine, theirs} {
		q.Add("a", 0, at(0))
	}
	item, foreign := mustStart(t, mine, at(0), "a"), mustStart(t, theirs, at(0), "a")
	mine.Finish(at(0), foreign, done)
	mine.Finish(at(0), Item[string, int]{Key: "a"}, done)
	mine.Finish(at(0), Item[string, int]{Key: "b"}, done)
	require.Equal(t, 1, mine.Len())
	mine.Finish(at(0), item, done)
	require.Zero(t, mine.Len())
}

func TestQ5FinishOfAnItemThatGetShowedChangesNothing(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 0, at(0))
	mustStart(t, q, at(0), "a")
	shown, ok := q.Get("a")
	require.True(t, ok)
	q.Finish(at(0), shown, Result{Outcome: OutcomeFailed})
	mustHold(t, q, at(time.Hour)) // the action is still under way
}

func TestQ6ZeroHoldsAStoredToken(t *testing.T) {
	q := newTestQueue(t, limited(1, 3))
	q.Add("a", 0, at(0))
	setLimit(q, at(0), 0)
	mustHold(t, q, at(0))
	mustHold(t, q, at(time.Hour))
	_, ok := q.Next(at(time.Hour))
	require.False(t, ok, "only a change of the queue makes a difference")
	require.Equal(t, 1, q.Len(), "nothing is lost")

	setLimit(q, at(time.Hour), 1)
	mustStart(t, q, at(time.Hour), "a")
}

func TestQ6ZeroHoldsAReturnedToken(t *testing.T) {
	q := newTestQueue(t, limited(1, 0))
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	item := mustStart(t, q, at(0), "a")
	setLimit(q, at(0), 0)
	q.Finish(at(0), item, Result{Outcome: OutcomeSkipped})
	mustHold(t, q, at(time.Hour))
	setLimit(q, at(time.Hour), 0.001)
	mustStart(t, q, at(time.Hour), "b") // the token was kept
}

func TestQ6ZeroLimitOfABudgetHolds(t *testing.T) {
	q := newTestQueue(t, limited(0, 0))
	q.Add("a", 0, at(0))
	mustHold(t, q, at(time.Hour))
	limit, ok := q.Limit("all", "")
	require.True(t, ok)
	require.Zero(t, limit)
}

func TestQ6NothingIsEarnedAtZero(t *testing.T) {
	q := newTestQueue(t, limited(1, 2))
	for _, key := range []string{"a", "b", "c", "d"} {
		q.Add(key, 0, at(0))
	}
	require.Equal(t, []string{"a", "b"}, startAll(q, at(0)))
	setLimit(q, at(500*time.Millisecond), 0)
	setLimit(q, at(time.Hour), 1)
	mustHold(t, q, at(time.Hour+499*time.Millisecond))
	mustStart(t, q, at(time.Hour+500*time.Millisecond), "c") // the half token was kept
	mustHold(t, q, at(time.Hour+time.Second))
}

func TestQ6SetLimitNeverRaisesTokens(t *testing.T) {
	for _, limits := range [][]rate.Limit{
		{100}, {0.01, 100}, {0, 100}, {rate.Inf, 1}, {rate.Limit(math.Inf(1)), 1},
		{-1, 1}, {rate.Limit(math.NaN()), 1}, {math.SmallestNonzeroFloat64, 1}, {math.MaxFloat64 / 2, 1},
	} {
		q := newTestQueue(t, limited(1, 2))
		for _, key := range []string{"a", "b", "c", "d", "e"} {
			q.Add(key, 0, at(0))
		}
		require.Len(t, startAll(q, at(0)), 2)
		for _, limit := range limits {
			setLimit(q, at(0), limit)
		}
		require.Empty(t, startAll(q, at(0)), "limits %v", limits)
		require.LessOrEqual(t, len(startAll(q, at(time.Minute))), 2, "limits %v: more than the burst",
			limits)
	}
}

func TestQ6SetLimitCountsWhatWasEarnedAtTheOldRate(t *testing.T) {
	q := newTestQueue(t, limited(0.1, 0))
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	mustStart(t, q, at(0), "a")
	setLimit(q, at(5*time.Second), 0.01) // half a token, the rest ten times slower
	next, ok := q.Next(at(5 * time.Second))
	require.True(t, ok)
	require.WithinDuration(t, at(55*time.Second), next, 2*time.Nanosecond)
	mustHold(t, q, at(54*time.Second))
	mustStart(t, q, at(55*time.Second), "b")
}

func TestQ6HeldKeysCanBeChanged(t *testing.T) {
	q := newTestQueue(t, limited(0, 0))
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	q.Add("c", 0, at(0))
	q.Remove("a")
	q.Reschedule("b", at(2*time.Hour))
	setLimit(q, at(time.Hour), rate.Inf)
	require.Equal(t, []string{"c"}, startAll(q, at(time.Hour)))
	require.Equal(t, []string{"b"}, startAll(q, at(2*time.Hour)))
}

func TestQ8FailedItemBacksOff(t *testing.T) {
	q := newTestQueue(t, unlimited) // 1 s, at most 8 s
	q.Add("a", 0, at(0))
	now := time.Duration(0)
	for attempt, seconds := range []int{1, 2, 4, 8, 8, 8} {
		wait := time.Duration(seconds) * time.Second
		item := mustStart(t, q, at(now), "a")
		require.Equal(t, attempt, item.Attempts)
		q.Finish(at(now), item, Result{Outcome: OutcomeFailed})
		mustHold(t, q, at(now+wait-1))
		now += wait
	}
	q.Remove("a")
	q.Add("a", 0, at(now))
	require.Zero(t, mustStart(t, q, at(now), "a").Attempts, "a new entry has failed never")
}

func TestQ8FailedItemDoesNotDelayOthers(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("failing", 0, at(0))
	q.Add("b", 0, at(0))
	q.Add("c", 0, at(500*time.Millisecond))
	q.Finish(at(0), mustStart(t, q, at(0), "failing"), Result{Outcome: OutcomeFailed})
	mustStart(t, q, at(0), "b")
	next, ok := q.Next(at(0))
	require.True(t, ok)
	require.Equal(t, at(500*time.Millisecond), next)
	mustStart(t, q, next, "c")
	mustStart(t, q, at(time.Second), "failing")
}

func TestQ8ActionChoosesItsRetryAfter(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 0, at(0))
	q.Finish(at(0), mustStart(t, q, at(0), "a"),
		Result{Outcome: OutcomeFailed, RetryAfter: time.Minute})
	mustHold(t, q, at(time.Minute-1))
	item := mustStart(t, q, at(time.Minute), "a")
	require.Equal(t, 1, item.Attempts)
	q.Finish(at(time.Minute), item, Result{Outcome: OutcomeDone, RetryAfter: time.Minute})
	require.Zero(t, q.Len(), "only a failure waits")
}
