package eviction

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// An attempt is one action under way.
type attempt struct {
	entry *entry // nil if the pod was forgotten since
	item  timedqueue.Item[types.UID, pod]
	must  report // when and why the pod had to leave, whatever was held
	// signal tells the action that its task is moot. The tracker, under its
	// caller's lock, and the action, on its own goroutine, share nothing else. If
	// the action took the lock to ask, it would wait for decisions about other
	// pods.
	signal atomic.Bool
	// overtaken: the pod was forgotten, and observed again, since the attempt
	// began. Its result concerns what is known no more.
	overtaken bool
	// observed: the pod was observed since the attempt began. What the action saw
	// of it is older.
	observed bool
	// terminating: the pod was observed to be on its way out.
	terminating bool
}

// notes are what few pods have: a request, and former attempts.
type notes struct {
	request  *request  // of EvictPod, or nil
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

func (d report) same(r *ruling) bool { return d.reason == r.reason && d.due.Equal(r.due) }

// attemptOn returns the action under way on a pod, or nil.
func (t *Tracker) attemptOn(e *entry) *attempt {
	if e.Value().state != evicting {
		return nil
	}
	return t.running[e.Key()]
}

// notesOn returns the notes on a pod, or nil.
func (t *Tracker) notesOn(e *entry) *notes {
	if !e.Value().noted {
		return nil
	}
	return t.notes[e.Key()]
}

// note returns the notes on a pod, new ones if there are none.
func (t *Tracker) note(e *entry) *notes {
	if !e.Value().noted {
		e.Value().noted = true
		t.notes[e.Key()] = new(notes)
	}
	return t.notes[e.Key()]
}
