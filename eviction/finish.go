package eviction

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// Finish takes the result of a task. What the tracker observed meanwhile counts
// more: a pod that was forgotten stays forgotten, and the next step of one that
// changed is decided again. A second Finish of a task changes nothing.
func (t *Tracker) Finish(now time.Time, task Task, result Result) {
	id := task.Pod.ID()
	a := t.running[id]
	if a == nil || a != task.attempt {
		return
	}
	now = t.advance(now)
	delete(t.running, id)
	outcome := result.outcome()
	ends := timedqueue.Result{Outcome: timedqueue.OutcomePostponed, Idle: true}
	if t.spends(outcome) {
		ends.Outcome = timedqueue.OutcomeContinued
	}
	t.evictions.Finish(now, a.item, ends) // without a due time until it is decided again
	e := a.entry
	if e == nil {
		return
	}
	left := evicting
	if !a.overtaken {
		left = t.learn(now, e, task, outcome, result)
	}
	switch {
	case a.terminating:
		t.enter(now, e, leaving, nil)
	case left == accepted:
		t.enter(now, e, accepted, nil)
	default:
		var must ruling
		t.rule(&must, e)
		t.enterDecided(now, e, left, &must)
	}
}

// spends reports whether an outcome costs the API server what a budget counts.
func (t *Tracker) spends(outcome Outcome) bool {
	switch outcome {
	case OutcomeGone, OutcomeNotDue:
		return false
	case OutcomeBlocked:
		return t.config.ChargeRefusals
	case OutcomeEvicted, OutcomeFailed, OutcomeDryRun:
	}
	return true
}

// learn records what an attempt says of a pod. It returns the state in which
// the attempt leaves the pod: accepted, reported, or evicting for neither.
func (t *Tracker) learn(
	now time.Time, e *entry, task Task, outcome Outcome, result Result,
) podState {
	p, a := e.Value(), task.attempt
	if result.Pod != nil && result.Pod.UID == task.Pod.UID && !a.observed {
		p.marked = hasDisruptionTarget(result.Pod)
	}
	switch outcome {
	case OutcomeEvicted, OutcomeGone:
		if outcome == OutcomeEvicted && !a.terminating { // else it counts already
			t.count(e)
		}
		t.forgetAttempts(e)
		return accepted
	case OutcomeFailed, OutcomeBlocked:
		t.failed(now, e, outcome, result)
	case OutcomeNotDue:
		n := t.note(e)
		n.retryAt, n.err = now.Add(t.wait(max(result.RetryAfter, cacheDelay), 0)), nil
	case OutcomeDryRun:
		n := t.note(e)
		n.reported, n.err = a.must, nil
		return reported
	}
	return evicting
}

// failed makes a pod wait before the next attempt.
func (t *Tracker) failed(now time.Time, e *entry, outcome Outcome, result Result) {
	n := t.note(e)
	n.err = result.Err
	if outcome == OutcomeBlocked {
		n.retryAt = now.Add(t.wait(result.RetryAfter, n.refusals))
		n.refusals++
		return
	}
	n.retryAt = now.Add(t.wait(result.RetryAfter, n.attempts))
	n.attempts, n.refusals = n.attempts+1, 0
}

func (t *Tracker) forgetAttempts(e *entry) {
	if n := t.notesOn(e); n != nil {
		*n = notes{request: n.request}
	}
}

// wait returns how long a pod waits: as long as an answer asked for, else the
// backoff after so many failures. It is at most the backoff's longest wait.
func (t *Tracker) wait(asked time.Duration, failures int) time.Duration {
	if asked <= 0 {
		return t.config.Backoff.Delay(failures)
	}
	return min(asked, t.config.Backoff.Longest())
}

// cacheDelay is how long what an action found may take to reach the tracker.
const cacheDelay = time.Second
