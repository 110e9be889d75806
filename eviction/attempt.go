package eviction

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// An attempt is one action under way.
type attempt struct {
	entry  *entry // nil if the pod was forgotten since
	item   timedqueue.Item[types.UID, pod]
	must   report       // when and why the pod had to leave, whatever was held
	signal cancelSignal // read by the action
	// overtaken: the pod was forgotten, and observed again, since the attempt
	// began. Its result concerns what is known no more.
	overtaken bool
	// observed: the pod was observed since the attempt began. What the action saw
	// of it is older.
	observed bool
	// terminating: the pod was observed to be on its way out.
	terminating bool
}

// A cancelSignal tells an action that its task is moot. The tracker, under its
// caller's lock, and the action, on its own goroutine, share nothing else. If
// the action took the lock to ask, it would wait for decisions about other
// pods.
type cancelSignal struct{ atomic.Bool }

// history is what is known of former attempts on a pod. Few pods have one.
type history struct {
	attempts int       // that failed
	refusals int       // by a PodDisruptionBudget, in a row
	retryAt  time.Time // no attempt before
	err      error     // of the last attempt
	reported report    // what a dry run has reported
}

// A report is the decision that a dry run has reported.
type report struct {
	reason Reason
	due    time.Time
}

func (d report) same(r ruling) bool { return d.reason == r.reason && d.due.Equal(r.due) }
