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
	failures int       // attempts that failed
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

// attempts are the actions under way and the notes.
type attempts struct {
	backoff timedqueue.Backoff
	running map[types.UID]*attempt
	notes   map[types.UID]*notes
}

func newAttempts(backoff timedqueue.Backoff) *attempts {
	return &attempts{
		backoff: backoff, running: make(map[types.UID]*attempt), notes: make(map[types.UID]*notes),
	}
}

// on returns the action under way on a pod, or nil.
func (s *attempts) on(e *entry) *attempt {
	if e.Value().state != evicting {
		return nil
	}
	return s.running[e.Key()]
}

// notesOn returns the notes on a pod, or nil.
func (s *attempts) notesOn(e *entry) *notes {
	if !e.Value().noted {
		return nil
	}
	return s.notes[e.Key()]
}

// note returns the notes on a pod, new ones if there are none.
func (s *attempts) note(e *entry) *notes {
	if !e.Value().noted {
		e.Value().noted = true
		s.notes[e.Key()] = new(notes)
	}
	return s.notes[e.Key()]
}

// begin records that a pod is handed out, which must leave by a ruling.
func (s *attempts) begin(item timedqueue.Item[types.UID, pod], must *ruling) *attempt {
	a := &attempt{entry: item.Value.entry(), item: item, must: report{must.reason, must.due}}
	s.running[item.Key] = a
	return a
}

// end returns the action of a task that has ended, or nil if it had before.
func (s *attempts) end(task Task) *attempt {
	id := task.Pod.ID()
	a := s.running[id]
	if a == nil || a != task.attempt {
		return nil
	}
	delete(s.running, id)
	return a
}

// forget forgets a pod. An action under way on it learns that.
func (s *attempts) forget(e *entry) {
	if a := s.on(e); a != nil {
		a.entry = nil
		a.signal.Store(true)
	}
	if e.Value().noted {
		delete(s.notes, e.Key())
	}
}

// overtake gives an action that is under way to a pod that was forgotten since it
// began and is observed again.
func (s *attempts) overtake(e *entry) {
	a := s.running[e.Key()]
	a.entry = e
	a.overtaken, a.observed, a.terminating = true, false, false
}

// acting returns how many pods that are known have an action under way.
func (s *attempts) acting() int {
	acting := 0
	for _, a := range s.running {
		acting += count(a.entry != nil)
	}
	return acting
}

// request returns what EvictPod has asked for, or nil.
func (s *attempts) request(e *entry) *request {
	if n := s.notesOn(e); n != nil {
		return n.request
	}
	return nil
}

// notBefore returns when a pod that is due is attempted: not before the wait
// after its last attempt is over.
func (s *attempts) notBefore(e *entry, due time.Time) time.Time {
	if n := s.notesOn(e); n != nil {
		return later(due, n.retryAt)
	}
	return due
}

// forgive forgets the failures of an eviction that has succeeded, or is not
// wanted any more. The wait before the next attempt stays.
func (s *attempts) forgive(e *entry) {
	if n := s.notesOn(e); n != nil {
		n.failures, n.refusals, n.err = 0, 0, nil
	}
}

// failed makes a pod wait before the next attempt.
func (s *attempts) failed(now time.Time, e *entry, outcome Outcome, result Result) {
	n := s.note(e)
	n.err = result.Err
	if outcome == OutcomeBlocked {
		n.retryAt = now.Add(s.wait(result.RetryAfter, n.refusals))
		n.refusals++
		return
	}
	n.retryAt = now.Add(s.wait(result.RetryAfter, n.failures))
	n.failures, n.refusals = n.failures+1, 0
}

// notDue makes a pod wait until the tracker has observed what the action found.
func (s *attempts) notDue(now time.Time, e *entry, result Result) {
	n := s.note(e)
	n.retryAt, n.err = now.Add(s.wait(max(result.RetryAfter, cacheDelay), 0)), nil
}

// cacheDelay is how long what an action found may take to reach the tracker.
const cacheDelay = time.Second

// reported records what a dry run has reported.
func (s *attempts) reported(e *entry, must report) {
	n := s.note(e)
	n.reported, n.err = must, nil
}

// wait returns how long a pod waits: as long as an answer asked for, else the
// backoff after so many failures. It is at most the backoff's longest wait.
func (s *attempts) wait(asked time.Duration, failures int) time.Duration {
	if asked <= 0 {
		return s.backoff.Delay(failures)
	}
	return min(asked, s.backoff.Longest())
}
