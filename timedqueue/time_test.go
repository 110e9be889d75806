package timedqueue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// x/time/rate credits the same time twice when it is shown an old timestamp.
func TestTimeGoingBackwardsEarnsNothing(t *testing.T) {
	q := newTestQueue(t, limited(1, 0))
	for _, key := range []string{"a", "b", "c"} {
		q.Add(key, 0, at(-time.Hour))
	}
	mustStart(t, q, at(10*time.Second), "a")
	for _, back := range []time.Duration{0, 9 * time.Second, -time.Hour, -1000 * time.Hour} {
		mustHold(t, q, at(back))
		setLimit(q, at(back), 1)
		q.Next(at(back))
	}
	mustHold(t, q, at(10999*time.Millisecond))
	mustStart(t, q, at(11*time.Second), "b")
	mustHold(t, q, at(11*time.Second))
}

func TestTimeGoingBackwardsUndoesNoDue(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 0, at(time.Minute))
	mustHold(t, q, at(0))
	_, ok := q.Next(at(time.Minute))
	require.True(t, ok)
	item := mustStart(t, q, at(0), "a") // an earlier now counts as the last one
	q.Finish(at(-time.Hour), item, Result{Outcome: OutcomeFailed})
	mustHold(t, q, at(time.Minute))
	mustStart(t, q, at(time.Minute+time.Second), "a")
}

func TestDuesFarAway(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("never", 0, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
	q.Add("now", 0, at(0))
	q.Add("year one", 0, time.Time{}.Add(1))
	q.Add("long ago", 0, time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC))
	require.Equal(t, []string{"year one", "long ago", "now"}, startAll(q, at(0)))
	mustHold(t, q, at(100*365*24*time.Hour))
	next, ok := q.Next(at(0))
	require.True(t, ok)
	require.True(t, next.After(at(100*365*24*time.Hour)))
	q.Set("never", 0, at(0))
	mustStart(t, q, at(0), "never")
}

// Nows beyond what a time.Duration holds must neither hang nor start something
// twice nor let a retry be due in the past.
func TestNowFarAway(t *testing.T) {
	for _, now := range []time.Time{
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), epoch.Add(math.MaxInt64), epoch.Add(1 << 62),
	} {
		q := newTestQueue(t, limited(1, 0))
		q.Add("a", 0, at(0))
		q.Add("b", 0, at(0))
		item := mustStart(t, q, now, "a")
		next, ok := q.Next(now)
		require.True(t, ok)
		require.True(t, next.After(epoch), "%v overflowed", next)
		q.Finish(now, item, Result{Outcome: OutcomeFailed})
		mustHold(t, q, now)
	}
}

func TestNextIsExact(t *testing.T) {
	for _, limit := range []rate.Limit{0.001, 0.1, 0.3, 1, 3, 7, 99, 1000, 12345.678} {
		q := newTestQueue(t, limited(limit, 0))
		for i := range 50 {
			q.Add(string(rune('0'+i)), 0, at(0))
		}
		now := at(0)
		for i := range 50 {
			next, ok := q.Next(now)
			require.True(t, ok)
			if i > 0 {
				mustHold(t, q, next.Add(-5*time.Nanosecond))
				now = next
			}
			_, ok = q.Start(now)
			require.True(t, ok, "limit %v: nothing at the %d. Next %v", limit, i, next)
		}
	}
}

func TestNextOfDuesAndTokens(t *testing.T) {
	q := newTestQueue(t, limited(1, 0))
	_, ok := q.Next(at(0))
	require.False(t, ok, "empty")
	q.Add("past", 0, at(-time.Minute))
	next, ok := q.Next(at(0))
	require.True(t, ok)
	require.False(t, next.After(at(0)), "it can start already")
	item := mustStart(t, q, at(0), "past")
	_, ok = q.Next(at(0))
	require.False(t, ok, "acting")
	q.Add("later", 0, at(time.Hour))
	next, ok = q.Next(at(0))
	require.True(t, ok)
	require.Equal(t, at(time.Hour), next, "due after the token")
	q.Finish(at(0), item, done)
}
