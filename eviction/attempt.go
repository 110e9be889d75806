package eviction

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// An attempt is one action under way.
type attempt struct {
	entry  *entry                              // nil if the pod was forgotten since
	item   timedqueue.Item[types.UID, pod]     // of an eviction
	clear  *timedqueue.Item[types.UID, *entry] // of a condition to be cleared, or nil
	signal cancelSignal                        // read by the action
	// overtaken: the pod was forgotten, and observed again, since the attempt
	// began. Its result concerns what is known no more.
	overtaken bool
	// observed: the pod was observed since the attempt began. What the action saw
	// of it is older.
	observed bool
	// terminating: the pod was observed to be on its way out.
	terminating bool
}

// clears reports whether its task is to clear the condition.
func (a *attempt) clears() bool { return a.clear != nil }

// state is that of a pod with the attempt under way.
func (a *attempt) state() podState {
	if a.clears() {
		return clearing
	}
	return evicting
}

// history is what is known of former attempts on a pod. Few pods have one.
type history struct {
	attempts int       // to evict that failed
	refusals int       // by a PodDisruptionBudget, in a row
	retryAt  time.Time // no attempt to evict before
	clears   int       // attempts to clear the condition, in a row
	unclear  int       // those of them that failed
	clearAt  time.Time // no attempt to clear before
	err      error     // of the last attempt
	reported report    // what a dry run has reported
}

// failed returns how many attempts have failed, to clear the condition or to
// evict.
func (h *history) failed(clears bool) int {
	if clears {
		return h.unclear
	}
	return h.attempts
}

// A report is the decision that a dry run has reported.
type report struct {
	reason Reason
	due    time.Time
}

func (d report) same(r ruling) bool { return d.reason == r.reason && d.due.Equal(r.due) }
