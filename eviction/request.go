package eviction

import (
	"iter"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// EvictPod makes a pod leave at a time, whatever it tolerates; earlier, if a
// taint says so. The zero time is now. The reason is the caller's words for
// Decision.Request and for the message of the condition. The request lasts
// until CancelPodEviction or until the pod is forgotten; another one replaces
// it. It is kept in memory only: after a restart the caller makes it again. A
// pod that Config.Exempt exempts stays.
//
// It returns false and does nothing for a pod that it does not know: one that
// was not observed yet, or is forgotten. The caller asks again once the pod was
// observed.
func (t *Tracker) EvictPod(now time.Time, id types.UID, reason string, due time.Time) bool {
	now = t.pods.advance(now)
	e, known := t.pods.find(id)
	if !known {
		return false
	}
	if due.IsZero() {
		due = now
	}
	t.pods.attempts.note(e).request = &request{due: due, reason: reason}
	t.pods.decide(now, e)
	return true
}

// CancelPodEviction takes EvictPod back and reports whether there was a
// request.
func (t *Tracker) CancelPodEviction(now time.Time, id types.UID) bool {
	now = t.pods.advance(now)
	e, known := t.pods.find(id)
	if !known || t.pods.attempts.request(e) == nil {
		return false
	}
	t.pods.attempts.note(e).request = nil
	t.pods.decide(now, e)
	return true
}

// A NodeRequest is a caller's wish that a node is emptied; see
// [Tracker.EvictNode].
type NodeRequest struct {
	// Reason is the caller's words for Decision.Request and for the message of the
	// condition.
	Reason string
	// Since is when the pods had to leave, for a caller that has asked before a
	// restart; the zero time is now. Pods that have arrived since had to leave when
	// they arrived.
	Since time.Time
	// UID is that of the node. Empty means the present or else the next node of
	// that name.
	UID types.UID
	// While, unless nil, says of a node that was just read whether its pods should
	// still leave. It must be a pure function; [Task.Reevaluate] calls it, on the
	// goroutine of the action. So a caller that empties what is not ready evicts
	// nothing more from a node that its watch has yet to show as ready.
	While func(*corev1.Node) bool
}

// EvictNode makes all pods of a node leave now, whatever they tolerate. Pods
// that come to it later leave as soon as they are observed. Pods that would come
// back stay, those of DaemonSets and mirror pods, and so do exempt ones. So
// older controllers emptied nodes before there were taints.
//
// The request is for one node. It lasts until CancelNodeEviction or until that
// node is deleted, and a second one for it changes nothing. One for a node that
// is not known waits for it; [Tracker.AwaitedNodes] lists it. EvictNode returns
// false, and does nothing, when 10,000 wait already. Requests are kept in memory
// only: after a restart the caller makes them again.
func (t *Tracker) EvictNode(now time.Time, name string, request NodeRequest) bool {
	now = t.pods.advance(now)
	if request.Since.IsZero() {
		request.Since = now
	}
	if n, known := t.nodes.byName[name]; known && n.evictFor(request) {
		t.pods.decideOn(now, n)
		return true
	}
	return t.nodes.await(name, request)
}

// AwaitedNodes goes through the requests of EvictNode for nodes that are not
// known, in no order. The tracker must not be used before it ends.
func (t *Tracker) AwaitedNodes() iter.Seq2[string, NodeRequest] { return maps.All(t.nodes.awaited) }

// CancelNodeEviction takes EvictNode back and reports whether there was a
// request.
func (t *Tracker) CancelNodeEviction(now time.Time, name string) bool {
	now = t.pods.advance(now)
	_, canceled := t.nodes.awaited[name]
	delete(t.nodes.awaited, name)
	if n, known := t.nodes.byName[name]; known && n.eviction != nil {
		n.eviction = nil
		t.pods.decideOn(now, n)
		return true
	}
	return canceled
}

// Retry ends the wait of a pod after an attempt. The pod is attempted as soon
// as it is due and its budgets allow. A pod that a dry run has reported is
// reported again. Retry reports whether the pod is known.
func (t *Tracker) Retry(now time.Time, id types.UID) bool {
	now = t.pods.advance(now)
	e, known := t.pods.find(id)
	if !known {
		return false
	}
	if n := t.pods.attempts.notesOn(e); n != nil {
		n.retryAt, n.reported = time.Time{}, report{}
	}
	t.pods.decide(now, e)
	return true
}
