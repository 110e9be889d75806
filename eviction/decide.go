package eviction

import (
	"slices"
	"time"
)

// decideNode decides about the pods of a node. If they may stay, it begins with
// the last: what came last into a heap leaves it in O(1).
func (t *Tracker) decideNode(now time.Time, n *node) {
	if len(n.taints) == 0 && n.eviction == nil {
		for _, e := range slices.Backward(n.pods) {
			t.decide(now, e)
		}
		return
	}
	for _, e := range n.pods {
		t.decide(now, e)
	}
}

// decide puts a pod into the state that its decision asks for. While an action
// is under way, the pod stays as it is until Finish, and the action learns
// whether its task is moot.
func (t *Tracker) decide(now time.Time, e *entry) {
	switch from := e.Value().state; {
	case from == evicting:
		a := t.running[e.Key()]
		a.signal.Store(a.terminating || !t.unheld(e).dueAt(now))
	case !from.goes():
		t.enterDecided(now, e, from)
	}
}

// enterDecided puts a pod without an action under way into the state that its
// decision asks for. It was in the state from before.
func (t *Tracker) enterDecided(now time.Time, e *entry, from podState) {
	must := t.rule(e)
	switch {
	case !must.leaves():
		t.enter(now, e, staying, plan{})
		return
	case from == reported && t.histories[e.Key()].reported.same(must):
		t.enter(now, e, reported, plan{})
		return
	case !must.dueAt(now):
		t.enter(now, e, pending, plan{at: t.notBefore(e, must.due), due: must.due})
		return
	}
	switch may := t.unheld(e); {
	case may.dueAt(now):
		t.enter(now, e, pending, plan{at: t.notBefore(e, may.due), due: must.due})
	case may.leaves():
		t.enter(now, e, onHold, plan{at: t.notBefore(e, may.due), due: must.due})
	default:
		t.enter(now, e, onHold, plan{due: must.due})
	}
}

// A plan is when something is to be done about a pod.
type plan struct {
	at  time.Time // zero: when something changes
	due time.Time // when the pod should leave, if it is pending or on hold
}

// enter puts a pod into a state, and into the queues in which pods of that
// state wait.
func (t *Tracker) enter(now time.Time, e *entry, next podState, p plan) {
	record := e.Value()
	was := record.state
	record.state = next
	if p.at.IsZero() {
		t.evictions.Unschedule(e)
	} else {
		t.evictions.Schedule(e, p.at)
	}
	switch {
	case next == onHold:
		t.parked.add(e, p.due)
	case was == onHold:
		t.parked.remove(e)
	}
	if next == pending && p.at.After(p.due) {
		t.late.Set(e.Key(), e, p.due)
	} else {
		t.late.Remove(e.Key())
	}
	switch {
	case next == accepted:
		t.accepted.Set(e.Key(), e, now.Add(t.config.Backoff.Longest()))
	case was == accepted:
		t.accepted.Remove(e.Key())
	}
	if next == staying {
		t.forgive(e)
	}
	more := count(next.waits()) - count(was.waits())
	t.waiting += more
	record.placement.node.waiting += more
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// forgive forgets the failures of an eviction that is not wanted any more. The
// wait before the next attempt stays.
func (t *Tracker) forgive(e *entry) {
	if h, known := t.histories[e.Key()]; known {
		h.attempts, h.refusals, h.err = 0, 0, nil
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

// rule applies the rules to a pod. It says when the pod must leave, whatever is
// held.
func (t *Tracker) rule(e *entry) ruling {
	return t.ruleBy(e, e.Value().placement.node.taints, t.requestsFor(e))
}

// unheld says when a pod may leave, by what is not held.
func (t *Tracker) unheld(e *entry) ruling {
	n := e.Value().placement.node
	held := t.heldOn(n)
	return t.ruleBy(e, t.rules.unheld(n.taints, held), t.unheldRequests(e, held))
}

func (t *Tracker) ruleBy(e *entry, on []Taint, by requests) ruling {
	p := e.Value()
	switch {
	case p.state.goes(), p.state == evicting && t.terminating(e):
		return ruling{reason: ReasonGone}
	case p.kind == exempt:
		return ruling{reason: ReasonExempt}
	case len(on) == 0 && by == (requests{}): // most pods, most of the time
		return ruling{reason: ReasonNoTaints}
	}
	view := t.view(p)
	return decideOn(on, by, &view, t.rules.matcher)
}

// terminating reports whether a pod that was handed out is on its way out.
func (t *Tracker) terminating(e *entry) bool {
	a := t.running[e.Key()]
	return a != nil && a.terminating
}

// requestsFor returns what the caller has asked for that concerns a pod.
func (t *Tracker) requestsFor(e *entry) requests {
	p := e.Value()
	r := requests{node: p.nodeEviction()}
	if p.requested {
		r.pod = t.requests[e.Key()]
	}
	return r
}

// unheldRequests returns those of them that are not held.
func (t *Tracker) unheldRequests(e *entry, held holdSet) requests {
	if held != 0 && t.rules.holdingRequests(held) >= 0 {
		return requests{}
	}
	return t.requestsFor(e)
}

func (t *Tracker) decision(e *entry) Decision {
	return t.rule(e).decision(e.Value().placement.node.taints)
}

// view is a pod as [Decide] takes it.
func (t *Tracker) view(p *pod) Pod {
	return Pod{Tolerations: p.tolerations, Arrived: t.epoch.Add(p.arrived)}
}
