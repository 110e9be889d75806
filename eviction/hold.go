package eviction

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// SuspendTaints makes the taints for which suspended is true count for nothing,
// until the next call. Nil suspends none. It is for the time in which taints
// that the caller set are still there but must not act, because every zone is
// disrupted. Suspended must be a pure function of the taint; Task.Reevaluate
// calls it too, on the goroutine of the action.
//
// It costs O(1) and the actions under way, and what matters holds at once.
// Decision says what counts now, and an action under way learns whether its
// task is moot. The pods on tainted nodes are decided again a slice at a time,
// by Start or by [Tracker.Reevaluate]. Start hands out nothing until all are,
// so pods that became due meanwhile leave in the order of their deadlines.
// Until then Waiting, Pending and Overdue count the remaining pods as they were
// decided before.
func (t *Tracker) SuspendTaints(now time.Time, suspended func(*corev1.Taint) bool) {
	now = t.advance(now)
	t.suspended = suspended
	t.outdate(now)
}

// SuspendTaintsOn makes the taints for which suspended is true count for
// nothing on one node, besides those that SuspendTaints names. It lasts until
// the next call for that node or its deletion. Nil suspends none. It is for
// taints that the caller has set and is about to remove, because the node is
// well again. A node that was not observed stays as it is. It costs O(pods on
// the node), as [Tracker.ObserveNode] does, if other taints count than before.
func (t *Tracker) SuspendTaintsOn(now time.Time, name string, suspended func(*corev1.Taint) bool) {
	now = t.advance(now)
	n, known := t.nodes[name]
	if !known || n.state != present || n.suspended == nil && suspended == nil {
		return
	}
	before := t.effective(n)
	n.suspended = suspended
	if equalTaints(before, effective(n.taints, n.suspends(t.suspended))) {
		return // each pod is decided, or will be, by just these
	}
	t.decideNode(now, n)
}

// outdate says that the pods on tainted nodes were decided by what counts no
// more. Those that are handed out are decided at once.
func (t *Tracker) outdate(now time.Time) {
	t.generation++
	if t.stale.on != nil {
		t.list(t.stale.on)
	}
	t.stale.nodes, t.stale.on = len(t.ordered), nil
	t.decideAllRunning(now)
}

// Reevaluate decides some of the pods again that SuspendTaints
// concerns, or whose node has too many pods for one turn. One call visits at
// most 1,000 nodes and pods. A pod counts as one more for each 256 pairs of a
// toleration and a taint of its node. Reevaluate reports whether there are
// more. Start does it too. It is for a caller that asks Start only at times,
// for example when there are tokens for a task. Such a caller calls Reevaluate
// until it returns false, and releases its lock in between.
func (t *Tracker) Reevaluate(now time.Time) bool {
	now = t.advance(now)
	left := t.slice
	t.reevaluateAll(now, &left)
	t.reevaluateBehind(now, &left)
	return t.Reevaluating()
}

// Reevaluating reports whether [Tracker.Reevaluate] has something to do.
func (t *Tracker) Reevaluating() bool { return t.reevaluatingAll() || len(t.stale.behind) > 0 }

// reevaluatingAll reports whether all nodes are being gone through.
func (t *Tracker) reevaluatingAll() bool { return t.stale.nodes > 0 || t.stale.on != nil }

// reevaluateAll goes on through all nodes, while there is something left.
func (t *Tracker) reevaluateAll(now time.Time, left *int) {
	s := &t.stale
	for *left > 0 {
		if n := s.on; n != nil {
			if t.catchUp(now, n, left) {
				t.list(n)
				s.on = nil
			}
			continue
		}
		s.nodes = min(s.nodes, len(t.ordered))
		if s.nodes == 0 {
			return
		}
		s.nodes--
		t.visited++
		*left--
		if n := t.ordered[s.nodes]; len(n.taints) > 0 && n.decided != t.generation {
			n.decided = t.generation
			n.outdate()
			s.on = n
		}
	}
}

// reevaluateBehind goes on with the nodes that are behind, one after the other.
func (t *Tracker) reevaluateBehind(now time.Time, left *int) {
	s := &t.stale
	for *left > 0 && len(s.behind) > 0 {
		n := s.behind[0]
		s.behind[0] = nil
		s.behind = s.behind[1:]
		n.listed = false
		before := *left
		t.catchUp(now, n, left)
		if *left == before {
			*left-- // for a node that has nothing left
		}
		t.list(n)
	}
}

// Halt holds all evictions until Resume, whatever they are for. With it an
// operator stops a controller at once, without ending it. Start hands out only
// conditions to be cleared. An eviction under way learns that its task is moot,
// and makes no further call. Nothing is lost: nodes and pods are observed as
// ever, deadlines pass, and Overdue counts the pods that should have left. Halt
// costs O(1) and the actions under way. A second Halt changes nothing.
func (t *Tracker) Halt(now time.Time) {
	now = t.advance(now)
	t.halted = true
	t.decideAllRunning(now)
}

// Resume ends what Halt began. Pods that became due meanwhile leave in the
// order of their deadlines, as fast as the budgets allow.
func (t *Tracker) Resume(now time.Time) {
	now = t.advance(now)
	t.halted = false
	t.decideAllRunning(now)
}

// Halted reports whether all evictions are held.
func (t *Tracker) Halted() bool { return t.halted }
