package timedqueue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

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

func TestQ6HeldBudgetHolds(t *testing.T) {
	q := newTestQueue(t, held(0))
	q.Add("a", 0, at(0))
	mustHold(t, q, at(time.Hour))
	limit, ok := q.Limit("all", "")
	require.True(t, ok)
	require.Zero(t, limit)
	setLimit(q, at(time.Hour), 1)
	mustStart(t, q, at(time.Hour), "a")
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
	q := newTestQueue(t, held(0))
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	q.Add("c", 0, at(0))
	q.Remove("a")
	q.Set("b", 0, at(2*time.Hour))
	setLimit(q, at(time.Hour), rate.Inf)
	require.Equal(t, []string{"c"}, startAll(q, at(time.Hour)))
	require.Equal(t, []string{"b"}, startAll(q, at(2*time.Hour)))
}

func TestLimitsVerySmallAndVeryLarge(t *testing.T) {
	for _, limit := range []rate.Limit{math.SmallestNonzeroFloat64, 1e-300, 1e-12, 1e-9} {
		q := newTestQueue(t, limited(limit, 0))
		q.Add("a", 0, at(0))
		q.Add("b", 0, at(0))
		mustStart(t, q, at(0), "a")
		next, ok := q.Next(at(0))
		require.True(t, ok, "a limit above zero lets something happen, if late")
		require.True(t, next.After(at(30*365*24*time.Hour)), "limit %v: next at %v", limit, next)
		mustHold(t, q, at(30*365*24*time.Hour))
	}
	for _, limit := range []rate.Limit{1e9, 1e10, 1e15, 1e300, rate.Limit(math.Inf(1))} {
		q := newTestQueue(t, limited(limit, 0))
		for i := range 100 {
			q.Add(string(rune('a'+i)), 0, at(0))
		}
		mustStart(t, q, at(0), "a")
		started := len(startAll(q, at(time.Nanosecond)))
		require.Positive(t, started, "limit %v", limit)
		require.LessOrEqual(t, float64(started), 2*float64(limit)*1e-9+1)
	}
}

// NaN and infinity must not find their way into the tokens: a bucket that is
// not a number lets everything through for ever.
func TestInfiniteLimitIsNoLimit(t *testing.T) {
	infinite := rate.Limit(math.Inf(1))
	q := newTestQueue(t, limited(infinite, 0))
	limit, _ := q.Limit("all", "")
	require.Equal(t, rate.Inf, limit)
	setLimit(q, at(0), infinite)
	setLimit(q, at(0), 1)
	for i := range 100 {
		q.Add(string(rune('a'+i)), 0, at(0))
	}
	require.Len(t, startAll(q, at(0)), 1)
	require.Len(t, startAll(q, at(time.Second)), 1)
}
