package eviction

import (
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Pending is where a pod is in its eviction.
type Pending struct {
	Pod  Key
	Node string
	// Decision says when the pod must leave and why. If it need not leave, its
	// condition of an earlier eviction is to be cleared, or there is nothing to
	// do.
	Decision Decision
	// NextAttempt is when something is done about it at the earliest: later than
	// Decision.Due after an attempt that failed. It is the zero time while an
	// action is under way, and when nothing is to be done.
	NextAttempt time.Time
	// Attempts is how many attempts to evict it have failed or, if it need not
	// leave, to clear its condition.
	Attempts int
	// Err is the error of the last attempt, nil if it succeeded.
	Err error
	// Budget is the name of the budget that delays it, empty if none does.
	Budget string
	// Acting says that an action is under way.
	Acting bool
}

// Waiting returns how many pods wait to be evicted, now or later, or for their
// condition to be cleared. It counts those with an action under way.
func (t *Tracker) Waiting() int { return t.waiting }

// Pending goes through the pods that Waiting counts, in no order. It costs as
// much as there are, and the tracker must not be used before it ends.
func (t *Tracker) Pending() iter.Seq[Pending] {
	return func(yield func(Pending) bool) {
		for e := range t.all() {
			if !yield(t.describe(e)) {
				return
			}
		}
	}
}

// all goes through the pods that Waiting counts.
func (t *Tracker) all() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for e := range t.evictions.All() {
			if !yield(e) {
				return
			}
		}
		for c := range t.clears.All() {
			if e := *c.Value(); e.Value().state == marked && !yield(e) {
				return
			}
		}
		for _, a := range t.running {
			if a.clears() && a.entry != nil && !yield(a.entry) {
				return
			}
		}
	}
}

// PodsOn goes through the pods of a node that the tracker knows, whether
// anything is to be done about them or not, in no order. The tracker must not
// be used before it ends.
func (t *Tracker) PodsOn(node string) iter.Seq[Pending] {
	return func(yield func(Pending) bool) {
		n, known := t.nodes[node]
		if !known {
			return
		}
		for _, e := range n.pods {
			if !yield(t.describe(e)) {
				return
			}
		}
	}
}

func (t *Tracker) describe(e *entry) Pending {
	p := e.Value()
	d := Pending{
		Pod:      p.key(e.Key()),
		Node:     p.placement.node.name,
		Decision: t.decision(e),
		Acting:   p.state.handedOut(),
	}
	if h, known := t.histories[e.Key()]; known {
		d.Attempts, d.Err = h.failed(p.state == marked || p.state == clearing), h.err
	}
	if p.state.scheduled() {
		if due, ok := t.evictions.Due(e); ok {
			d.NextAttempt = t.clock.time(t.clock.distance(due))
		}
		d.Budget, _ = t.evictions.Blocking(e)
	}
	if p.state.toClear() && d.Budget == "" { // else it is due by now
		item, _ := t.clears.Get(e.Key())
		d.NextAttempt = t.clock.time(t.clock.distance(item.Due))
	}
	return d
}

// Overdue returns how many pods should have left, and since when the one that
// is overdue the longest; the time is zero if there is none. Pods that a dry
// run has reported do not count. It costs as much as Pending.
func (t *Tracker) Overdue(now time.Time) (pods int, oldest time.Time) {
	now = t.advance(now)
	for e := range t.all() {
		ruling := t.rule(e)
		if !ruling.dueAt(now) {
			continue
		}
		pods++
		if oldest.IsZero() || ruling.due.Before(oldest) {
			oldest = ruling.due
		}
	}
	return pods, oldest
}

// Decision returns when a pod must leave, as far as is known now.
func (t *Tracker) Decision(id types.UID) (Decision, bool) {
	e, known := t.evictions.Find(id)
	if !known {
		return Decision{}, false
	}
	return t.decision(e), true
}
