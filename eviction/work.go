package eviction

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Work is one thing to do about one pod, now.
type Work struct {
	Pod  Key
	Node string
	// Verdict is why. For work that unmarks it is why the pod stays.
	Verdict Verdict
	// Unmark says that the pod is not to be evicted. It was about to be, and says
	// so in a condition that has to be taken back.
	Unmark bool
	// Marked says that the pod carries that condition already.
	Marked bool
	// Generation is the pod's.
	Generation int64
	// Tries is how many attempts have failed before.
	Tries int
	// At is when Start handed it out: the time that it was given, or the latest that
	// the tracker knew of if that was later. To an action it is the time: Delete reads
	// no clock, so that what it writes depends on nothing but the work and the API
	// server's answers.
	At time.Time

	node    types.UID
	evicted time.Time
	taints  []Taint
	pod     Pod
	config  *Config
	held    func(*corev1.Taint) bool
	entry   *entry[types.UID, pod]
	attempt *attempt[types.UID, pod]
}

// CalledOff reports whether the tracker has found since it handed out the work that
// there is nothing to do any more: the pod need not leave, or is gone. An action
// that makes several calls asks before each; it reports NotDue then. It may be
// called at any time, from any goroutine, and takes no lock.
func (w Work) CalledOff() bool { return w.attempt != nil && w.attempt.off.Load() }

// Reconsider decides again from a pod and its node that were just read, both of
// which may be nil when they are gone. What it cannot know from them it takes
// from the tracker's view when it handed out the work: when taints and pod were
// first seen, what is held and what is exempt.
func (w Work) Reconsider(live *corev1.Pod, on *corev1.Node, now time.Time) Verdict {
	if live == nil || on == nil || w.gone(live) {
		return Verdict{Reason: Gone}
	}
	if w.config.Exempt != nil && w.config.Exempt(live) {
		return Verdict{Reason: Exempt}
	}
	before, evicted := w.taints, w.evicted
	if on.UID != w.node {
		before, evicted = nil, time.Time{} // another node of that name
	}
	if IsOfDaemonSet(live) {
		evicted = time.Time{}
	}
	view := w.pod
	view.Tolerations = live.Spec.Tolerations
	taints := acting(noExecute(on, before, true, now), w.held)
	return decideOn(taints, evicted, &view, w.config.Matcher).verdict(taints)
}

// since returns since when the pod should have left. That of a taint which it does not
// tolerate is due when both have been seen, which is later after a restart.
func (w Work) since() time.Time {
	if w.Verdict.Reason != Untolerated {
		return w.Verdict.Due
	}
	return earlier(w.Verdict.Due, later(w.Verdict.Taint.Start, w.pod.Arrived))
}

// gone reports whether a pod that was just read is another one than the work is
// about, or on its way out already.
func (w Work) gone(live *corev1.Pod) bool {
	return live.UID != w.Pod.UID || live.DeletionTimestamp != nil
}

// Outcome is what came of work.
type Outcome int

const (
	// Evicted: the API server has accepted the eviction.
	Evicted Outcome = iota
	// AlreadyGone: the pod was deleted, is terminating, or is another one by now.
	AlreadyGone
	// NotDue: a closer look found that the pod need not leave. It is looked at
	// again soon, when the tracker has seen why.
	NotDue
	// Unmarked: the condition was taken back. For work that does not unmark it counts
	// as Failed.
	Unmarked
	// Failed: it has to be tried again. So does what is none of these outcomes.
	Failed
	// Blocked: a PodDisruptionBudget does not allow it now. It is asked again, after a
	// wait that grows. That is no failure, and does not count as a try.
	Blocked
)

// String returns the outcome's name.
func (o Outcome) String() string {
	names := [...]string{"Evicted", "AlreadyGone", "NotDue", "Unmarked", "Failed", "Blocked"}
	if o < 0 || int(o) >= len(names) {
		return fmt.Sprintf("Outcome(%d)", int(o))
	}
	return names[o]
}

// of returns the outcome as it counts for work that unmarks, or does not. One that
// does not fit is no reason to forget the pod, nor to try at once and for ever.
func (o Outcome) of(unmarks bool) Outcome {
	switch o {
	case Evicted, AlreadyGone, NotDue, Failed, Blocked:
		return o
	case Unmarked:
		if unmarks {
			return o
		}
	}
	return Failed
}

// Report is what came of work, and why.
type Report struct {
	Outcome Outcome
	// Wait is how long to wait before the next attempt. Zero means the backoff.
	Wait time.Duration
	// Err is the cause of a failure, or what the budget's answer was; see [CauseOf].
	Err error
	// Reason is why the pod need not leave, of NotDue, when a closer look has found that.
	// It is empty when the work was called off.
	Reason Reason
	// Pod is the pod as the API server had it after the action's last write to it,
	// and nil if nothing was written or the answer had no pod. It is newer than what a
	// cache shows until the cache has caught up.
	Pod *corev1.Pod
}

// Start hands out one thing to do now. What it hands out was decided from the
// newest view that the tracker has. When thousands of pods have to be put where they
// wait for a budget, it may return none though there is one; Next says now then, and
// the next Start goes on.
func (t *Tracker) Start(now time.Time) (Work, bool) {
	if !t.synced {
		return Work{}, false
	}
	now = t.advance(now)
	e, ok := t.pods.start()
	if !ok {
		return Work{}, false
	}
	p, a := &e.value, e.attempt
	return Work{
		Pod:        p.key(e.key),
		Node:       p.home.node.name,
		Verdict:    t.verdict(p),
		Unmark:     a.free,
		Marked:     p.marked,
		Generation: int64(p.generation),
		Tries:      a.tries,
		At:         now,
		node:       p.home.node.uid,
		evicted:    p.home.node.evicted,
		taints:     p.home.node.taints,
		pod:        t.view(p),
		config:     &t.config,
		held:       t.held,
		entry:      e,
		attempt:    a,
	}, true
}

// Finish takes what came of work. What the tracker has observed meanwhile counts
// more: a pod that was forgotten stays forgotten, and the next step of one that
// has changed is decided anew. A second Finish of the same work changes nothing.
func (t *Tracker) Finish(now time.Time, work Work, report Report) {
	now = t.advance(now)
	e := work.entry
	if !t.pods.underWay(e, work.attempt) {
		return
	}
	if !e.attempt.revived {
		learn(e, report)
	}
	gone := e.gone()
	t.pods.finish(e, report)
	if !gone {
		t.decide(now, e)
	}
}

// learn takes what a report says of a pod.
func learn(e *entry[types.UID, pod], report Report) {
	p := &e.value
	if report.Pod != nil && report.Pod.UID == e.key && !e.attempt.looked {
		p.marked = Marked(report.Pod)
	}
	switch report.Outcome.of(e.attempt.free) {
	case Evicted, AlreadyGone:
		p.gone = true
	case Unmarked:
		p.marked = false
	case NotDue, Failed, Blocked:
	}
}

// Next returns when Start can next hand something out.
func (t *Tracker) Next(now time.Time) (time.Time, bool) {
	if !t.synced {
		return time.Time{}, false
	}
	t.advance(now)
	at, ok := t.pods.next()
	if !ok {
		return time.Time{}, false
	}
	return t.pods.time(at), true
}

// cacheDelay is how long what a closer look found may take to reach the tracker.
const cacheDelay = time.Second
