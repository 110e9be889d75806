package eviction

import (
	"iter"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Pending is where a pod is in its eviction.
type Pending struct {
	Pod  Key
	Node string
	// Decision says when the pod must leave and why, whatever is held.
	Decision Decision
	// NextAttempt is when it is attempted at the earliest: later than Decision.Due
	// after an attempt that failed. It is the zero time while an action is under
	// way, and when nothing is to be done before a hold ends.
	NextAttempt time.Time
	// Attempts is how many attempts to evict it have failed.
	Attempts int
	// Err is the error of the last attempt, nil if it succeeded.
	Err error
	// Budget is the name of the budget that delays it, empty if none does.
	Budget string
	// Hold is the name of the hold that it waits for, empty if there is none.
	Hold string
	// Acting says that an action is under way.
	Acting bool
}

// Len returns how many nodes and pods the tracker knows.
func (t *Tracker) Len() (nodes, pods int) {
	return len(t.nodes.byName), t.pods.stages.evictions.Len()
}

// Waiting returns how many pods wait to be evicted, now or later. It counts
// those that are held, and those with an action under way.
func (t *Tracker) Waiting() int { return t.pods.stages.waiting }

// Pending goes through the pods that Waiting counts, in no order. It costs as
// much as there are, and the tracker must not be used before it ends. A caller
// that must not hold its lock for as long takes PendingOn of each of Nodes.
func (t *Tracker) Pending() iter.Seq[Pending] {
	return func(yield func(Pending) bool) {
		for name := range t.nodes.byName {
			for p := range t.PendingOn(name) {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// Nodes returns the names of the nodes that Len counts, in no order.
func (t *Tracker) Nodes() []string {
	names := make([]string, 0, len(t.nodes.byName))
	return slices.AppendSeq(names, maps.Keys(t.nodes.byName))
}

// PendingOn goes through the pods of a node that Waiting counts. It is like
// PodsOn otherwise.
func (t *Tracker) PendingOn(node string) iter.Seq[Pending] {
	return func(yield func(Pending) bool) {
		if n, known := t.nodes.byName[node]; known && n.waiting > 0 {
			t.podsOn(node, func(p *pod) bool { return p.state.waits() })(yield)
		}
	}
}

// PodsOn goes through the pods of a node that the tracker knows, whether
// anything is to be done about them or not, in no order. Requests may be made,
// canceled and retried meanwhile; nothing else may change.
func (t *Tracker) PodsOn(node string) iter.Seq[Pending] {
	return t.podsOn(node, func(*pod) bool { return true })
}

// RemainingOn goes through the pods that EvictNode makes leave a node, also
// those that are terminating and have yet to be gone: a node without any is
// empty, except for pods that would come back and exempt ones. It is like PodsOn
// otherwise.
func (t *Tracker) RemainingOn(node string) iter.Seq[Pending] {
	return t.podsOn(node, func(p *pod) bool { return p.kind == ordinary })
}

func (t *Tracker) podsOn(node string, listed func(*pod) bool) iter.Seq[Pending] {
	return func(yield func(Pending) bool) {
		n, known := t.nodes.byName[node]
		if !known {
			return
		}
		for _, e := range n.pods {
			if listed(e.Value()) && !yield(t.pods.describe(e)) {
				return
			}
		}
	}
}

// Overdue returns when the pod should have left that is overdue the longest, and
// false if none is. A pod counts by its deadline also while it waits after an
// attempt that failed, for a budget, or for the end of a hold. One that a dry
// run has reported does not count. It costs O(actions under way and shares of
// budgets), for a scrape of metrics.
func (t *Tracker) Overdue(now time.Time) (since time.Time, is bool) {
	return t.pods.overdueSince(t.pods.advance(now))
}

// Acting returns how many of the pods that Waiting counts have an action under
// way.
func (t *Tracker) Acting() int { return t.pods.attempts.acting() }

// Delayed returns how many due pods wait for a share of a budget, as far as
// Start has found that. It reads a running count. It is zero for a budget of all
// pods; [Tracker.Overdue] tells how late they are.
func (t *Tracker) Delayed(budget string) int { return t.pods.stages.evictions.Delayed(budget) }

// Decision returns when a pod must leave, as far as is known now and whatever is
// held.
func (t *Tracker) Decision(id types.UID) (Decision, bool) {
	e, known := t.pods.find(id)
	if !known {
		return Decision{}, false
	}
	var must ruling
	t.pods.rules.must(&must, e)
	return must.decision(), true
}
