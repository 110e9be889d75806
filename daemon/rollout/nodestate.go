package rollout

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeState is a planner's record of a node that should have a pod, or has
// pods, a creation or failures. The node may be gone.
type nodeState struct {
	name    string
	owner   *knowledge
	stored  *storedNode // nil: the node is gone
	machine types.UID   // of the node, or of the last one with the name
	pods    *podState   // the first one for this node

	attempt int       // part of the name of the next pod
	sent    *creation // that is not settled; nil: none
	refused failures  // creations
	failed  failures  // pods that had failed and were deleted

	situation situation
	until     time.Time // when the situation changes by itself; zero: never
	order     order
	slots     [numberOfNeeds]int32 // where it is in the queues; zero: not in it
	index     int32                // in knowledge.states
	staleAt   int32                // in knowledge.stale, from one on; zero: not in it
	revision  int32                // goal.revision that its failures are of
	ranking   int32                // candidates.ranking that its slots are of

	decision placed
	// taken says that the rollout has deleted its available pod and it has had no
	// other one since.
	taken bool
}

func (n *nodeState) object() *corev1.Node {
	if n.stored == nil {
		return nil
	}
	return n.stored.object
}

// identify forgets the failures of a former machine under the name.
func (n *nodeState) identify() {
	machine := n.stored.object.UID
	if n.machine != "" && n.machine != machine {
		n.forgetFailures()
		n.taken = false
	}
	n.machine = machine
}

// startRevision forgets the failures of a former revision.
func (n *nodeState) startRevision(revision int32) {
	if n.revision != revision {
		n.forgetFailures()
		n.revision = revision
	}
}

// forgetFailures forgets the failures on a node, because the next try is for
// another revision or machine.
func (n *nodeState) forgetFailures() {
	n.refused, n.failed = failures{}, failures{}
}

// replace counts the replacement of a terminal pod, whose deletion is handed out.
// One that is sent again was counted, unless failures were forgotten since, and
// the next wait begins with it.
func (n *nodeState) replace(former deletionPhase, now time.Time) {
	if former == deletionUnanswered && n.failed.times > 0 {
		n.failed.last = now
		return
	}
	n.failed.replaced(now)
}

// rememberedUntil returns until when a node without a pod keeps its failures.
// It may need a pod again.
func (n *nodeState) rememberedUntil() time.Time {
	var until time.Time
	for _, f := range []*failures{&n.refused, &n.failed} {
		if end := f.last.Add(2 * longestBackoff); f.times > 0 && end.After(until) {
			until = end
		}
	}
	return until
}

// unneeded reports whether a node has no pods and no creation, and should have
// no pod.
func (n *nodeState) unneeded() bool {
	return n.pods == nil && n.sent == nil && !n.decision.shouldRun
}

// forgettable reports whether the record of a node holds nothing. A node that
// exists keeps its failures for a time.
func (n *nodeState) forgettable(now time.Time) bool {
	return n.unneeded() && (n.stored == nil || !now.Before(n.rememberedUntil()))
}

// resends reports whether the deletion of one of its pods is to be sent again
// now.
func (n *nodeState) resends(now time.Time) bool {
	for s := n.pods; s != nil; s = s.next {
		if s.unanswered() && s.due(now) {
			return true
		}
	}
	return false
}

// serves reports whether a node has an available pod that stays.
func (n *nodeState) serves(spec *Spec, now time.Time) bool {
	for s := n.pods; s != nil; s = s.next {
		from, isReady := spec.availableFrom(s)
		if isReady && !now.Before(from) && !s.leaving() {
			return true
		}
	}
	return false
}

// attach links a record with its node.
func (n *nodeState) attach(stored *storedNode) {
	n.stored = stored
	last := len(stored.states) - 1
	if last < 0 || stored.states[last].owner.id < n.owner.id { // as with one planner
		stored.states = append(stored.states, n)
		return
	}
	at, _ := stored.search(n.owner)
	stored.states = slices.Insert(stored.states, at, n)
}

// detach unlinks a record from its node, unless that is gone.
func (n *nodeState) detach() {
	if n.stored == nil {
		return
	}
	if at, found := n.stored.search(n.owner); found {
		n.stored.states = slices.Delete(n.stored.states, at, at+1)
	}
	n.stored = nil
}
