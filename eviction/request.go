package eviction

import (
	"time"

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
	now = t.advance(now)
	e, known := t.evictions.Find(id)
	if !known {
		return false
	}
	if due.IsZero() {
		due = now
	}
	t.requests[id] = &request{due: due, reason: reason}
	e.Value().requested = true
	t.decide(now, e)
	return true
}

// CancelPodEviction takes EvictPod back and reports whether there was a
// request.
func (t *Tracker) CancelPodEviction(now time.Time, id types.UID) bool {
	now = t.advance(now)
	e, known := t.evictions.Find(id)
	if !known || !e.Value().requested {
		return false
	}
	e.Value().requested = false
	delete(t.requests, id)
	t.decide(now, e)
	return true
}

// EvictNode makes all pods of a node leave now, whatever they tolerate. Pods
// that come to it later leave as soon as they are observed. Pods of DaemonSets
// stay, because they would come back, and so do exempt ones. So older
// controllers emptied nodes before there were taints. The reason is the
// caller's words for Decision.Request and for the message of the condition. The
// request lasts until CancelNodeEviction or until the node is deleted. It is kept in memory only: after a restart the caller makes it
// again. EvictNode does nothing for a node that was not observed, or that is
// evicted already.
func (t *Tracker) EvictNode(now time.Time, name, reason string) {
	now = t.advance(now)
	if n, known := t.nodes[name]; known && n.state == present && n.eviction == nil {
		n.eviction = &request{due: now, reason: reason}
		t.decideNode(now, n)
	}
}

// CancelNodeEviction takes EvictNode back.
func (t *Tracker) CancelNodeEviction(now time.Time, name string) {
	now = t.advance(now)
	if n, known := t.nodes[name]; known && n.eviction != nil {
		n.eviction = nil
		t.decideNode(now, n)
	}
}

// Retry ends the wait of a pod after an attempt. The pod is attempted as soon
// as it is due and its budgets allow. A pod that a dry run has reported is
// reported again. Retry reports whether the pod is known.
func (t *Tracker) Retry(now time.Time, id types.UID) bool {
	now = t.advance(now)
	e, known := t.evictions.Find(id)
	if !known {
		return false
	}
	if h, known := t.histories[id]; known {
		h.retryAt, h.reported = time.Time{}, report{}
	}
	t.decide(now, e)
	return true
}
