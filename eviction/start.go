package eviction

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// Start hands out one task to do now, decided from the newest view that the
// tracker has. Due evictions come before conditions to be cleared. It may
// return none, while Next says now. Then thousands of pods are being put where
// they wait for a budget, as with [timedqueue.Queue.Start], or decided again;
// see [Tracker.Reevaluate].
func (t *Tracker) Start(now time.Time) (Task, bool) {
	if !t.synced {
		return Task{}, false
	}
	now = t.advance(now)
	t.doubtAccepted(now)
	t.Reevaluate(now)
	if t.reevaluatingAll() {
		return Task{}, false
	}
	if t.halted {
		return t.startClear(now)
	}
	for left := t.slice; left > 0; {
		item, ok := t.evictions.Start(now)
		if !ok {
			break
		}
		t.attempts.remove(t.attempts.secondOf(item.Due))
		e := item.Value.entry()
		if !e.Value().placement.node.stale(e) || t.rule(e).dueAt(now) {
			return t.begin(now, &attempt{entry: e, item: item}), true
		}
		left -= t.weight(e)
		t.visited += t.weight(e)
		t.evictions.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomePostponed, Idle: true})
		t.enterDecided(now, e, e.Value().state)
	}
	if at, ok := t.evictions.Next(now); ok && !at.After(now) {
		return Task{}, false // the next Start goes on
	}
	return t.startClear(now)
}

// doubtAccepted decides again about pods that should have been observed to be
// terminating by now.
func (t *Tracker) doubtAccepted(now time.Time) {
	for range mostPassedOver {
		item, ok := t.accepted.Start(now)
		if !ok {
			return
		}
		t.accepted.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
		t.enter(now, item.Value, staying, time.Time{})
		t.decide(now, item.Value)
	}
}

// startClear hands out a condition to be cleared.
func (t *Tracker) startClear(now time.Time) (Task, bool) {
	for left := mostPassedOver; left > 0; {
		item, ok := t.clears.Start(now)
		if !ok {
			break
		}
		left -= t.weight(item.Value)
		if !t.rule(item.Value).dueAt(now) {
			begun := item // item itself would be allocated by each Start
			return t.begin(now, &attempt{entry: item.Value, clear: &begun}), true
		}
		t.clears.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeSkipped})
		t.decide(now, item.Value)
	}
	return Task{}, false
}

// mostPassedOver bounds how many pods one Start finds due that wait for their
// condition to be cleared; see Tracker.weight. Their conditions stay, and they
// wait for a budget.
const mostPassedOver = 1000

func (t *Tracker) begin(now time.Time, a *attempt) Task {
	e := a.entry
	p, n := e.Value(), e.Value().placement.node
	t.running[e.Key()] = a
	task := Task{
		Pod:                 p.key(e.Key()),
		Node:                n.name,
		Decision:            t.decision(e),
		ClearCondition:      a.clears(),
		HasDisruptionTarget: p.marked,
		Generation:          int64(p.generation),
		StartedAt:           now,
		attempt:             a,
		view: view{
			node:     n.uid,
			taints:   n.taints,
			eviction: n.eviction,
			request:  t.requestFor(e),
			pod:      t.view(p),
			rules:    t.rules, suspended: n.suspends(t.suspended),
		},
	}
	if h, known := t.histories[e.Key()]; known {
		task.Attempts = h.failed(a.clears())
	}
	t.enter(now, e, a.state(), time.Time{})
	return task
}

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
	outcome := result.outcome(a.clears())
	t.finishItem(now, a, outcome)
	e := a.entry
	if e == nil {
		return
	}
	left := e.Value().state
	if !a.overtaken {
		left = t.learn(now, e, task, outcome, result)
	}
	switch {
	case a.terminating:
		t.enter(now, e, leaving, time.Time{})
		return
	case left == accepted:
		t.enter(now, e, accepted, now.Add(t.config.Backoff.Longest()))
		return
	}
	t.enterDecided(now, e, left)
}

// finishItem ends the item of an attempt in its queue, with the tokens spent or
// returned. The pod stays in the queue of evictions, without a due time until
// it is decided again.
func (t *Tracker) finishItem(now time.Time, a *attempt, outcome Outcome) {
	spent := t.spends(outcome)
	switch {
	case a.clears() && spent:
		t.clears.Finish(now, *a.clear, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
	case a.clears():
		t.clears.Finish(now, *a.clear, timedqueue.Result{Outcome: timedqueue.OutcomeSkipped})
	case spent:
		t.evictions.Finish(now, a.item, timedqueue.Result{Outcome: timedqueue.OutcomeContinued, Idle: true})
	default:
		t.evictions.Finish(now, a.item, timedqueue.Result{Outcome: timedqueue.OutcomePostponed, Idle: true})
	}
}

// spends reports whether an outcome costs the API server what a budget counts.
func (t *Tracker) spends(outcome Outcome) bool {
	switch outcome {
	case OutcomeAlreadyGone, OutcomeNotDue:
		return false
	case OutcomeBlocked:
		return t.config.ChargeRefusals
	case OutcomeEvicted, OutcomeConditionCleared, OutcomeFailed, OutcomeDryRun:
	}
	return true
}

// learn records what an attempt says of a pod. It returns the state in which
// the attempt leaves the pod: accepted, reported, or that of the attempt.
func (t *Tracker) learn(
	now time.Time, e *entry, task Task, outcome Outcome, result Result,
) podState {
	p, a := e.Value(), task.attempt
	if result.Pod != nil && result.Pod.UID == task.Pod.UID && !a.observed {
		p.marked = t.rules.own.condition(result.Pod) != nil
	}
	switch outcome {
	case OutcomeEvicted, OutcomeAlreadyGone:
		delete(t.histories, e.Key())
		return accepted
	case OutcomeConditionCleared:
		p.marked = p.marked && a.observed
		t.forgive(e)
		t.cleared(now, e, nil, 0)
	case OutcomeFailed, OutcomeBlocked:
		t.failed(now, e, a, outcome, result)
	case OutcomeNotDue:
		if a.clears() {
			t.cleared(now, e, nil, result.RetryAfter)
			break
		}
		h := t.history(e.Key())
		h.retryAt, h.err = now.Add(t.wait(max(result.RetryAfter, cacheDelay), 0)), nil
	case OutcomeDryRun:
		h := t.history(e.Key())
		h.reported, h.err = report{task.Decision.Reason, task.Decision.Due}, nil
		return reported
	}
	return a.state()
}

// failed makes a pod wait before the next attempt.
func (t *Tracker) failed(now time.Time, e *entry, a *attempt, outcome Outcome, result Result) {
	h := t.history(e.Key())
	h.err = result.Err
	if a.clears() {
		t.cleared(now, e, result.Err, result.RetryAfter)
		h.unclear++
		return
	}
	if outcome == OutcomeBlocked {
		h.retryAt = now.Add(t.wait(result.RetryAfter, h.refusals))
		h.refusals++
		return
	}
	h.retryAt = now.Add(t.wait(result.RetryAfter, h.attempts))
	h.attempts, h.refusals = h.attempts+1, 0
}

// cleared counts an attempt to clear a condition. The next one waits, whether
// this one has failed or another client sets the condition again.
func (t *Tracker) cleared(now time.Time, e *entry, err error, asked time.Duration) {
	h := t.history(e.Key())
	if now.Sub(h.clearAt) > 2*t.config.Backoff.Longest() {
		h.clears = 0
	}
	h.err = err
	h.clearAt = now.Add(t.wait(asked, h.clears))
	h.clears++
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

// Next returns when Start can next hand something out, and false when only a
// change of the tracker makes a difference.
func (t *Tracker) Next(now time.Time) (time.Time, bool) {
	if !t.synced {
		return time.Time{}, false
	}
	now = t.advance(now)
	if t.Reevaluating() {
		return now, true
	}
	return t.NextTask(now)
}

// NextTask is Next for a caller that calls [Tracker.Reevaluate] until nothing
// is left: it does not say now for that alone. While nothing is handed out
// because all nodes are reevaluated, it returns false.
func (t *Tracker) NextTask(now time.Time) (time.Time, bool) {
	if !t.synced || t.reevaluatingAll() {
		return time.Time{}, false
	}
	now = t.advance(now)
	at, ok := t.accepted.Next(now)
	if clearAt, has := t.clears.Next(now); has && (!ok || clearAt.Before(at)) {
		at, ok = clearAt, true
	}
	if t.halted {
		return at, ok
	}
	if evictAt, has := t.evictions.Next(now); has && (!ok || evictAt.Before(at)) {
		return evictAt, true
	}
	return at, ok
}
