package timedqueue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
