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
	from := e.Value().state
	if from.goes() {
		return
	}
	var must ruling
	t.rule(&must, e)
	if a := t.attemptOn(e); a != nil {
		a.signal.Store(a.terminating || !t.unheld(e, &must).dueAt(now))
		return
	}
	t.enterDecided(now, e, from, &must)
}

// enterDecided puts a pod without an action under way into the state that a
// ruling asks for. It was in the state from before.
func (t *Tracker) enterDecided(now time.Time, e *entry, from podState, must *ruling) {
	switch {
	case !must.leaves():
		t.enter(now, e, staying, nil)
		return
	case from == reported && t.notesOn(e).reported.same(must):
		t.enter(now, e, reported, nil)
		return
	case !must.dueAt(now):
		t.enter(now, e, pending, &plan{at: t.notBefore(e, must.due), due: must.due})
		return
	}
	switch may := t.unheld(e, must); {
	case may.dueAt(now):
		t.enter(now, e, pending, &plan{at: t.notBefore(e, may.due), due: must.due})
	case may.leaves():
		t.enter(now, e, onHold, &plan{at: t.notBefore(e, may.due), due: must.due})
	default:
		t.enter(now, e, onHold, &plan{due: must.due})
	}
}

// A plan is when something is to be done about a pod.
type plan struct {
	at  time.Time // zero: when something changes
	due time.Time // when the pod should leave, if it is pending or on hold
}

// enter puts a pod into a state, and into the queues in which pods of that
// state wait. Without a plan nothing is to be done until something changes.
func (t *Tracker) enter(now time.Time, e *entry, next podState, p *plan) {
	if p == nil {
		p = new(plan)
	}
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
	switch {
	case next == pending && p.at.After(p.due):
		t.late.Set(e.Key(), e, p.due)
	case was == pending:
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
	record.node.waiting += more
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
	if n := t.notesOn(e); n != nil {
		n.attempts, n.refusals, n.err = 0, 0, nil
	}
}

// notBefore returns when a pod that is due is attempted: not before the wait
// after its last attempt is over.
func (t *Tracker) notBefore(e *entry, due time.Time) time.Time {
	if n := t.notesOn(e); n != nil {
		return later(due, n.retryAt)
	}
	return due
}

// rule applies the rules to a pod. It says when the pod must leave, whatever is
// held. Must is zero before.
func (t *Tracker) rule(must *ruling, e *entry) {
	t.ruleBy(must, e, e.Value().node.taints, t.requestsFor(e))
}

// unheld says when a pod that must leave by a ruling may leave, by what is not
// held.
func (t *Tracker) unheld(e *entry, must *ruling) *ruling {
	n := e.Value().node
	held := t.heldOn(n)
	if held == 0 {
		return must
	}
	may := new(ruling)
	t.ruleBy(may, e, t.config.unheld(n.taints, held), t.unheldRequests(e, held))
	return may
}

func (t *Tracker) ruleBy(r *ruling, e *entry, on []Taint, by requests) {
	p, a := e.Value(), t.attemptOn(e)
	switch {
	case p.state.goes(), a != nil && a.terminating:
		r.reason = ReasonGone
	case p.kind == exempt:
		r.reason = ReasonExempt
	case len(on) == 0 && by == (requests{}): // most pods, most of the time
		r.reason = ReasonNoTaints
	default:
		view := t.view(p)
		r.decide(on, by, &view, t.config.Matcher)
	}
}

// requestsFor returns what the caller has asked for that concerns a pod.
func (t *Tracker) requestsFor(e *entry) requests {
	r := requests{node: e.Value().nodeEviction()}
	if n := t.notesOn(e); n != nil {
		r.pod = n.request
	}
	return r
}

// unheldRequests returns those of them that are not held.
func (t *Tracker) unheldRequests(e *entry, held holdSet) requests {
	if held != 0 && t.config.holdingRequests(held) >= 0 {
		return requests{}
	}
	return t.requestsFor(e)
}

// view is a pod as [Decide] takes it.
func (t *Tracker) view(p *pod) Pod {
	return Pod{Tolerations: p.traits.tolerations, Arrived: t.epoch.Add(p.arrived)}
}
