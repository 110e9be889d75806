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
	q.Add("zero time", 0, time.Time{})
	q.Add("long ago", 0, time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC))
	require.Equal(t, []string{"zero time", "long ago", "now"}, startAll(q, at(0)))
	mustHold(t, q, at(100*365*24*time.Hour))
	next, ok := q.Next(at(0))
	require.True(t, ok)
	require.True(t, next.After(at(100*365*24*time.Hour)))
	q.Reschedule("never", at(0))
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

func TestWaitsFarAway(t *testing.T) {
	long := Backoff{Initial: math.MaxInt64, Max: math.MaxInt64, Jitter: func() float64 { return 0.5 }}
	for _, test := range []struct {
		name    string
		backoff Backoff
		wait    time.Duration
	}{
		{"result", Backoff{}, math.MaxInt64},
		{"backoff", long, 0},
		{"infinite jitter", Backoff{Jitter: func() float64 { return math.Inf(1) }}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := newTestQueue(t, testConfig{Backoff: test.backoff})
			q.Add("a", 0, at(0))
			q.Finish(at(time.Hour), mustStart(t, q, at(time.Hour), "a"),
				Result{Outcome: OutcomeFailed, RetryAfter: test.wait})
			mustHold(t, q, at(50*365*24*time.Hour))
		})
	}
}

func TestJitterLengthensAndNeverShortens(t *testing.T) {
	for _, test := range []struct {
		jitter float64
		wait   time.Duration
	}{
		{0, time.Second}, {0.5, 1500 * time.Millisecond}, {2, 3 * time.Second},
		{-0.5, time.Second}, {math.NaN(), time.Second}, {math.Inf(-1), time.Second},
	} {
		q := newTestQueue(t, testConfig{Backoff: Backoff{
			Initial: time.Second, Jitter: func() float64 { return test.jitter },
		}})
		q.Add("a", 0, at(0))
		q.Finish(at(0), mustStart(t, q, at(0), "a"), Result{Outcome: OutcomeFailed})
		item, ok := q.Get("a")
		require.True(t, ok)
		require.Equal(t, at(test.wait), item.Due, "jitter %v", test.jitter)
	}
}

func TestAttemptsSaturate(t *testing.T) {
	q := newTestQueue(t, testConfig{Backoff: Backoff{Initial: 1, Max: 1}})
	q.Add("a", 0, at(0))
	now, attempts := at(0), 0
	for range math.MaxUint16 + 10 {
		item, ok := q.Start(now)
		if !ok || item.Attempts < attempts {
			t.Fatalf("after %d attempts: started %v with %d failed attempts", attempts, ok, item.Attempts)
		}
		attempts = item.Attempts
		q.Finish(now, item, Result{Outcome: OutcomeFailed})
		now = now.Add(1)
	}
	require.Equal(t, math.MaxUint16, attempts)
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

func TestBackoffDefaults(t *testing.T) {
	for _, test := range []struct {
		backoff Backoff
		waits   []time.Duration // after 0, 1, 20 failures
	}{
		{Backoff{}, []time.Duration{500 * time.Millisecond, time.Second, time.Minute}},
		{Backoff{Initial: time.Hour}, []time.Duration{time.Hour, time.Hour, time.Hour}},
		{Backoff{Max: time.Millisecond}, []time.Duration{time.Millisecond, time.Millisecond,
			time.Millisecond}},
		{Backoff{Max: time.Hour}, []time.Duration{500 * time.Millisecond, time.Second, time.Hour}},
	} {
		require.NoError(t, test.backoff.Validate())
		full := test.backoff.withDefaults()
		for i, failures := range []int{0, 1, 20} {
			require.Equal(t, test.waits[i], full.delay(failures), "%+v after %d", test.backoff, failures)
		}
		require.Equal(t, full.Max, full.delay(math.MaxUint16))
	}
}
