package timedqueue

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The zero value of a result, or an unknown outcome, counts as a failure. It
// has a backoff, a spent token and one more failed attempt.
func TestQ11WhatIsNoOutcomeIsAFailure(t *testing.T) {
	for _, result := range []Result{{}, {Outcome: "Unknown"}, {Outcome: "done"}, {At: at(0)},
		{Idle: true}, failed} {
		q := newTestQueue(t, withBackoff(limited(0.1, 1), unlimited.Backoff))
		q.Add("a", 0, at(0))
		q.Finish(at(0), mustStart(t, q, at(0), "a"), result)
		require.Equal(t, 1, q.Len())
		item, _ := q.Get("a")
		require.Equal(t, at(time.Second), item.Due)
		require.Equal(t, 1, item.Attempts)
		mustHold(t, q, seconds(9.999))
		q.Finish(seconds(10), mustStart(t, q, seconds(10), "a"), result)
		item, _ = q.Get("a")
		require.Equal(t, seconds(12), item.Due)
		require.Equal(t, 2, item.Attempts)
	}
}

var errTest = errors.New("broken")

func TestQ11OutcomesSayWhatBecomesOfItemTokenAndAttempts(t *testing.T) {
	for name, test := range map[string]struct {
		result   Result
		stays    bool
		due      time.Time
		attempts int // of one that had failed before
		returned bool
	}{
		"done": {result: done},
		"done, with a time": {result: Result{Outcome: OutcomeDone, At: at(time.Minute),
			RetryAfter: time.Minute}},
		"skipped": {result: skipped, returned: true},
		"failed":  {failed, true, seconds(12), 2, false},
		"failed, told when": {Result{Outcome: OutcomeFailed, RetryAfter: time.Minute}, true,
			seconds(70), 2, false},
		"failed, with a time": {Result{Outcome: OutcomeFailed, At: at(time.Minute)}, true, seconds(12),
			2, false},
		"failed, negative": {Result{Outcome: OutcomeFailed, RetryAfter: -1}, true, seconds(12), 2,
			false},
		"continued": {Result{Outcome: OutcomeContinued, At: at(time.Minute)}, true,
			at(time.Minute), 0, false},
		"continued, idle": {Result{Outcome: OutcomeContinued, Idle: true}, true,
			time.Time{}, 0, false},
		"continued, no time": {Result{Outcome: OutcomeContinued}, true, seconds(12), 2, false},
		"continued, both": {Result{Outcome: OutcomeContinued, Idle: true, At: at(time.Minute)}, true,
			seconds(12), 2, false},
		"postponed": {Result{Outcome: OutcomePostponed, At: at(time.Minute)}, true,
			at(time.Minute), 1, true},
		"postponed, idle": {Result{Outcome: OutcomePostponed, Idle: true}, true,
			time.Time{}, 1, true},
		"postponed, no time": {Result{Outcome: OutcomePostponed}, true, seconds(12), 2, false},
		"postponed, both": {Result{Outcome: OutcomePostponed, Idle: true, At: at(time.Minute)}, true,
			seconds(12), 2, false},
		"postponed, told when": {Result{Outcome: OutcomePostponed, Idle: true, RetryAfter: time.Hour},
			true, time.Time{}, 1, true},
		"done, with an error": {Result{Outcome: OutcomeDone, Err: errTest}, true,
			seconds(12), 2, false},
		"skipped, with an error": {Result{Outcome: OutcomeSkipped, Err: errTest}, true,
			seconds(12), 2, false},
		"continued, with an error": {Result{Outcome: OutcomeContinued, At: at(time.Minute), Err: errTest},
			true, seconds(12), 2, false},
		"postponed, with an error": {Result{Outcome: OutcomePostponed, At: at(time.Minute), Err: errTest},
			true, at(time.Minute), 1, true},
		"failed, with an error": {Result{Outcome: OutcomeFailed, Err: errTest}, true,
			seconds(12), 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			q := newTestQueue(t, withBackoff(limited(0.1, 1), unlimited.Backoff))
			q.Add("a", 0, at(0))
			q.Finish(at(0), mustStart(t, q, at(0), "a"), failed)
			started := mustStart(t, q, seconds(10), "a")
			q.Add("other", 0, at(0))
			q.Finish(seconds(10), started, test.result)
			item, stays := q.Get("a")
			require.Equal(t, test.stays, stays)
			require.Equal(t, test.due, item.Due)
			require.Equal(t, test.attempts, item.Attempts)
			if test.returned {
				mustStart(t, q, seconds(10), "other")
				return
			}
			mustHold(t, q, seconds(19.999))
			mustStart(t, q, seconds(20), "other")
		})
	}
}

func TestQ11ItemWithoutADueTimeWaitsUntilItIsScheduled(t *testing.T) {
	for _, outcome := range []Outcome{OutcomeContinued, OutcomePostponed} {
		q := newTestQueue(t, unlimited)
		q.Add("a", 1, at(0))
		q.Finish(at(0), mustStart(t, q, at(0), "a"), Result{Outcome: outcome, Idle: true})
		require.Equal(t, 1, q.Len())
		require.Empty(t, pendingKeys(q))
		mustHold(t, q, at(1000*time.Hour))
		_, ok := q.Next(at(1000 * time.Hour))
		require.False(t, ok)
		require.False(t, q.Set("a", 1, at(0)))
		mustStart(t, q, at(1000*time.Hour), "a")
	}
}

// A postponed item keeps its backoff for when it fails again.
func TestQ11PostponedItemGoesOnWithItsBackoff(t *testing.T) {
	q := newTestQueue(t, unlimited)
	q.Add("a", 0, at(0))
	q.Finish(at(0), mustStart(t, q, at(0), "a"), failed)
	q.Finish(seconds(1), mustStart(t, q, seconds(1), "a"),
		Result{Outcome: OutcomePostponed, At: seconds(5)})
	mustHold(t, q, seconds(4.999))
	q.Finish(seconds(5), mustStart(t, q, seconds(5), "a"), failed)
	item, _ := q.Get("a")
	require.Equal(t, seconds(7), item.Due)
}
