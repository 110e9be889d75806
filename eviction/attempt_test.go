package eviction

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/timedqueue"
)

// E5 and E12: failures and refusals have growing waits of their own, no answer
// makes a pod wait longer than the longest, and only what has failed is noted.
func TestE5WaitsAfterAttempts(t *testing.T) {
	_, pods := newStagesOf(t, "p")
	e, s := pods["p"], newAttempts(timedqueue.Backoff{Initial: time.Second, Max: 8 * time.Second})
	waits := func(seconds float64) {
		t.Helper()
		require.Equal(t, seconds, s.notBefore(e, someTime).Sub(someTime).Seconds())
	}
	waits(0)
	require.Nil(t, s.notesOn(e))
	s.failed(someTime, e, OutcomeFailed, Result{Err: errors.New("down")})
	waits(1)
	s.failed(someTime, e, OutcomeFailed, Result{})
	waits(2)
	s.failed(someTime, e, OutcomeBlocked, Result{})
	waits(1)
	s.failed(someTime, e, OutcomeBlocked, Result{RetryAfter: time.Hour})
	waits(8)
	require.Equal(t, 2, s.notesOn(e).failures, "a refusal is no failure")
	s.notDue(someTime, e, Result{})
	waits(1)

	s.failed(someTime, e, OutcomeFailed, Result{RetryAfter: 3 * time.Second})
	s.forgive(e)
	waits(3)
	require.Zero(t, s.notesOn(e).failures)
	s.note(e).request = &request{reason: "asked"}
	s.forgive(e)
	require.Equal(t, "asked", s.request(e).reason)
	s.forget(e)
	require.Empty(t, s.notes)
}

// E4: an action ends once. One whose pod was forgotten is told, and counts for
// none.
func TestE4AttemptEndsOnce(t *testing.T) {
	stages, pods := newStagesOf(t, "p")
	e, s := pods["p"], newAttempts(timedqueue.Backoff{})
	stages.enter(someTime, e, pending, &plan{at: someTime, due: someTime})
	item, ok := stages.evictions.Start(someTime)
	require.True(t, ok)
	require.Nil(t, s.on(e))
	a := s.begin(item, &ruling{reason: ReasonUntolerated, due: someTime})
	stages.enter(someTime, e, evicting, nil)
	require.Same(t, a, s.on(e))
	require.Equal(t, 1, s.acting())

	s.forget(e)
	require.True(t, a.signal.Load())
	require.Zero(t, s.acting())
	task := Task{Pod: Key{UID: "p"}, attempt: a}
	require.Nil(t, s.end(Task{Pod: Key{UID: "p"}, attempt: new(attempt)}), "it is of another time")
	require.Same(t, a, s.end(task))
	require.Nil(t, s.end(task))
}
