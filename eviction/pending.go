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
// much as there are, and the tracker must not be used before it ends; see
// [Tracker.PendingFrom].
func (t *Tracker) Pending() iter.Seq[Pending] {
	return func(yield func(Pending) bool) {
		for e := range t.all() {
			if !yield(t.describe(e)) {
				return
			}
		}
	}
}

// A Cursor is how far a walk with [Tracker.PendingFrom] has come. The zero
// value is its beginning.
type Cursor struct {
	walking bool
	nodes   int // that are left
	pods    int // that are left on the node after those
}

// PendingFrom goes on with a walk through the pods that Waiting counts. It
// visits at most so many nodes and pods, and at least one. A pod with many
// tolerations counts for several, as in [Tracker.Reevaluate]. The walk is over
// when [Cursor.Ended] says so. The tracker may change between two parts of it,
// so that a caller can release its lock. A pod that waits from the first part
// to the last is listed, as it was when its part was walked through. It is
// listed twice if others that left have moved it. A pod that waits for a part
// of that time may be listed.
func (t *Tracker) PendingFrom(c *Cursor, most int) iter.Seq[Pending] {
	return func(yield func(Pending) bool) {
		for left := max(most, 1); left > 0; {
			e := t.walk(c)
			listed := e != nil && e.Value().state.waits()
			if listed {
				left -= t.weight(e)
			} else {
				left--
			}
			if listed && !yield(t.describe(e)) || c.Ended() {
				return
			}
		}
	}
}

// Ended reports whether a walk is over.
func (c *Cursor) Ended() bool { return c.walking && c.nodes == 0 && c.pods == 0 }

// walk goes on to the next pod and returns it, or to the next node and returns
// nil. It goes from the last to the first, as stale does and for the same
// reason.
func (t *Tracker) walk(c *Cursor) *entry {
	if !c.walking {
		c.walking, c.nodes = true, len(t.ordered)
	}
	t.visited++
	c.nodes = min(c.nodes, len(t.ordered))
	switch {
	case c.pods > 0 && c.nodes < len(t.ordered):
		on := t.ordered[c.nodes].pods
		if c.pods = min(c.pods, len(on)); c.pods == 0 {
			return nil
		}
		c.pods--
		return on[c.pods]
	case c.nodes > 0:
		c.nodes--
		if n := t.ordered[c.nodes]; n.waiting > 0 {
			c.pods = len(n.pods)
			return nil
		}
	}
	c.pods = 0
	return nil
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
			d.NextAttempt = due
		}
		d.Budget, _ = t.evictions.Blocking(e)
	}
	if p.state.toClear() && d.Budget == "" { // else it is due by now
		item, _ := t.clears.Get(e.Key())
		d.NextAttempt = item.Due
	}
	return d
}

// Overdue returns how many pods should have left, and the earliest of their
// deadlines, which is zero if there is none. Pods that a dry run has reported
// do not count. It reads running counts, which are exact to a second: a pod
// counts within the second after its deadline. The oldest deadline may be that
// of a pod that has left in the same second.
func (t *Tracker) Overdue(now time.Time) (pods int, oldest time.Time) {
	return t.overdue.due(t.advance(now))
}

// Acting returns how many of the pods that Waiting counts have an action under
// way.
func (t *Tracker) Acting() int {
	acting := 0
	for _, a := range t.running {
		acting += count(a.entry != nil)
	}
	return acting
}

// Delayed returns how many due pods wait for a budget. A pod that waits for a
// share of a budget counts for that budget once Start has found it. While a
// budget of all pods has no token, all other due pods count for it. Delayed
// reads running counts, which are exact to a second.
func (t *Tracker) Delayed(now time.Time, budget string) int {
	now = t.advance(now)
	for _, b := range t.config.Budgets {
		if b.Name == budget && b.ofAllPods() {
			return t.delayedByAll(now)
		}
	}
	return t.evictions.Delayed(budget)
}

// delayedByAll returns how many due pods wait for a budget of all pods.
func (t *Tracker) delayedByAll(now time.Time) int {
	if next, ok := t.evictions.Next(now); ok && !next.After(now) {
		return 0
	}
	due, _ := t.attempts.due(now)
	for _, b := range t.config.Budgets {
		due -= t.evictions.Delayed(b.Name)
	}
	return max(due, 0)
}

// Decision returns when a pod must leave, as far as is known now.
func (t *Tracker) Decision(id types.UID) (Decision, bool) {
	e, known := t.evictions.Find(id)
	if !known {
		return Decision{}, false
	}
	return t.decision(e), true
}
