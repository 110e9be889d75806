package eviction

import (
	"time"
)

// decideNode decides about the pods of a node: those that one turn can decide,
// and the others by and by.
func (t *Tracker) decideNode(now time.Time, n *node) {
	n.effective, n.effectiveOf = effective(n.taints, n.suspends(t.suspended)), t.generation
	n.decided = t.generation
	n.outdate()
	for left := t.slice; left > 0 && n.behind(); {
		t.catchUp(now, n, &left)
	}
	if !n.behind() {
		return
	}
	t.list(n)
	for _, a := range t.running {
		if e := a.entry; e != nil && e.Value().placement.node == n && n.stale(e) {
			t.decideRunning(now, a)
		}
	}
}

// list puts a node that is behind at the end of the list of them.
func (t *Tracker) list(n *node) {
	if n.behind() && !n.listed {
		n.listed = true
		t.stale.behind = append(t.stale.behind, n)
	}
}

// catchUp decides pods of a node that is behind, while there is something left.
// It takes the last ones first, and decides those that it takes in their order.
// It reports whether each has had its turn.
func (t *Tracker) catchUp(now time.Time, n *node, left *int) bool {
	to := min(n.undecided, len(n.pods))
	from := to
	for ; *left > 0 && from > 0; from-- {
		*left -= t.weight(n.pods[from-1])
	}
	n.undecided = from
	for _, e := range n.pods[from:to] {
		t.decide(now, e)
	}
	if n.undecided > 0 {
		return false
	}
	if n.outdated {
		n.outdated, n.undecided = false, len(n.pods)
	}
	return true
}

// decideAllRunning tells each action under way whether its task is moot now.
func (t *Tracker) decideAllRunning(now time.Time) {
	for _, a := range t.running {
		if a.entry != nil {
			t.decideRunning(now, a)
		}
	}
}

// decideRunning tells an action under way whether its task is moot now. If that
// costs much, there may be too many of the kind to decide in one turn. The task
// counts as moot then until its pod is decided: it is attempted again later.
func (t *Tracker) decideRunning(now time.Time, a *attempt) {
	if t.weight(a.entry) > mostForRunning {
		t.visited++
		a.signal.Store(true)
		return
	}
	t.decide(now, a.entry)
}

// effective returns the taints of a node that count now.
func (t *Tracker) effective(n *node) []Taint {
	if n.effectiveOf != t.generation {
		n.effective, n.effectiveOf = effective(n.taints, n.suspends(t.suspended)), t.generation
	}
	return n.effective
}

// decide puts a pod into the state that its decision asks for. While an action
// is under way, the pod stays as it is until Finish, and the action learns
// whether its task is moot.
func (t *Tracker) decide(now time.Time, e *entry) {
	t.visited += t.weight(e)
	switch from := e.Value().state; {
	case from.handedOut():
		a, r := t.running[e.Key()], t.rule(e)
		held := t.halted && !a.clears()
		a.signal.Store(held || a.terminating || r.dueAt(now) == a.clears())
		t.countDue(now, e, r)
	case !from.goes():
		t.enterDecided(now, e, from)
	}
}

// weight is what it costs to decide about a pod, in records that are visited.
func (t *Tracker) weight(e *entry) int {
	p := e.Value()
	if p.kind == exempt || p.state.goes() {
		return 1
	}
	return 1 + len(p.tolerations)*len(p.placement.node.taints)/matchesOfRecord
}

// enterDecided puts a pod without an action under way into the state that its
// decision asks for. It was in the state from before.
func (t *Tracker) enterDecided(now time.Time, e *entry, from podState) {
	r := t.rule(e)
	t.enter(now, e, t.stateFor(now, e, r, from), r.due)
	if e.Value().state.waits() {
		t.countDue(now, e, r)
	}
}

// countDue counts when a pod must leave, for Overdue.
func (t *Tracker) countDue(now time.Time, e *entry, r ruling) {
	p := e.Value()
	next := second(0)
	if r.leaves() {
		next = t.overdue.secondOf(r.due)
	}
	if next == p.counted {
		return
	}
	if p.counted != 0 {
		t.overdue.remove(p.counted)
	}
	if next != 0 {
		t.overdue.add(now, r.due)
	}
	p.counted = next
}

func (t *Tracker) stateFor(now time.Time, e *entry, r ruling, from podState) podState {
	leaves, clears := r.leaves(), e.Value().marked && !r.dueAt(now)
	switch {
	case !leaves && clears:
		return marked
	case !leaves:
		return staying
	case from == reported && t.histories[e.Key()].reported.same(r):
		return reported
	case clears:
		return pendingMarked
	}
	return pending
}

// enter puts a pod into a state, and into the queues in which pods of that
// state wait. Due is the deadline of a state that is scheduled, or when an
// accepted pod is decided again.
func (t *Tracker) enter(now time.Time, e *entry, next podState, due time.Time) {
	p := e.Value()
	was := p.state
	p.state = next
	if at, has := t.evictions.Due(e); has {
		t.attempts.remove(t.attempts.secondOf(at))
	}
	switch {
	case next.scheduled():
		at := t.notBefore(e, due)
		t.evictions.Schedule(e, at)
		t.attempts.add(now, at)
	case was.scheduled():
		t.evictions.Unschedule(e)
	}
	switch {
	case next == accepted:
		t.accepted.Add(e.Key(), e, due)
	case was == accepted:
		t.accepted.Remove(e.Key())
	}
	switch {
	case next.toClear() && !was.toClear():
		t.clears.Add(e.Key(), e, t.clearAt(now, e))
	case was.toClear() && !next.toClear():
		t.clears.Remove(e.Key())
	}
	if next == staying || next == marked && was != marked && was != clearing {
		t.forgive(e)
	}
	more := count(next.waits()) - count(was.waits())
	t.waiting += more
	p.placement.node.waiting += more
	if !next.waits() {
		t.countDue(now, e, ruling{})
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// forgive forgets the failures of an eviction, or of clearing its condition,
// that is not wanted any more. The wait before the next attempt stays.
func (t *Tracker) forgive(e *entry) {
	if h, known := t.histories[e.Key()]; known {
		h.attempts, h.refusals, h.unclear, h.err = 0, 0, 0, nil
	}
}

// notBefore returns when a pod that is due is attempted: not before the wait
// after its last attempt is over.
func (t *Tracker) notBefore(e *entry, due time.Time) time.Time {
	if h, known := t.histories[e.Key()]; known {
		return later(due, h.retryAt)
	}
	return due
}

func (t *Tracker) clearAt(now time.Time, e *entry) time.Time {
	if h, known := t.histories[e.Key()]; known {
		return later(now, h.clearAt)
	}
	return now
}

// rule applies the rules to a pod.
func (t *Tracker) rule(e *entry) ruling {
	p := e.Value()
	switch {
	case p.state.goes(), p.state.handedOut() && t.terminating(e):
		return ruling{reason: ReasonGone}
	case p.kind == exempt:
		return ruling{reason: ReasonExempt}
	}
	view, on := t.view(p), t.effective(p.placement.node)
	return decideOn(on, p.nodeEviction(), t.requestFor(e), &view, t.rules.matcher)
}

// terminating reports whether a pod that was handed out is on its way out.
func (t *Tracker) terminating(e *entry) bool {
	a := t.running[e.Key()]
	return a != nil && a.terminating
}

func (t *Tracker) requestFor(e *entry) *request {
	if !e.Value().requested {
		return nil
	}
	return t.requests[e.Key()]
}

func (t *Tracker) decision(e *entry) Decision {
	return t.rule(e).decision(t.effective(e.Value().placement.node))
}

// view is a pod as [Decide] takes it.
func (t *Tracker) view(p *pod) Pod {
	return Pod{Tolerations: p.tolerations, Arrived: t.epoch.Add(p.arrived)}
}
