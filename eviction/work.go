package eviction

import (
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
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

	node   types.UID
	taints []Taint
	pod    Pod
	config Config
	held   func(*corev1.Taint) bool
	item   timedqueue.Item[types.UID, *pod]
	start  uint64
	off    *atomic.Bool
}

// CalledOff reports whether the tracker has found since it handed out the work that
// there is nothing to do any more: the pod need not leave, or is gone. An action
// that makes several calls asks before each; it reports NotDue then. It may be
// called at any time, from any goroutine, and takes no lock.
func (w Work) CalledOff() bool { return w.off != nil && w.off.Load() }

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
	before := w.taints
	if on.UID != w.node {
		before = nil // another node of that name: its taints are not those
	}
	view := w.pod
	view.Tolerations = live.Spec.Tolerations
	return Decide(acting(noExecute(on, before, true, now), w.held), view, w.config.Matcher)
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
	// Unmarked: the condition was taken back.
	Unmarked
	// Failed: it has to be tried again.
	Failed
)

// String returns the outcome's name.
func (o Outcome) String() string {
	names := [...]string{"Evicted", "AlreadyGone", "NotDue", "Unmarked", "Failed"}
	if o < 0 || int(o) >= len(names) {
		return fmt.Sprintf("Outcome(%d)", int(o))
	}
	return names[o]
}

// Report is what came of work, and why.
type Report struct {
	Outcome Outcome
	// Wait is how long to wait before the next attempt. Zero means the backoff.
	Wait time.Duration
	// Err is the cause of a failure.
	Err error
	// Pod is the pod as the API server had it after the action's last write to it,
	// and nil if nothing was written or the answer had no pod. It is newer than what a
	// cache shows until the cache has caught up.
	Pod *corev1.Pod
}

// Start hands out one thing to do now. What it hands out was decided from the
// newest view that the tracker has.
func (t *Tracker) Start(now time.Time) (Work, bool) {
	if !t.synced {
		return Work{}, false
	}
	now = t.advance(now)
	for {
		item, ok := t.due.Start(now)
		if !ok {
			return Work{}, false
		}
		p := item.Value
		if at, ok := t.nextStep(now, p); !ok || at.After(now) {
			t.due.Finish(now, item, timedqueue.Result{Outcome: timedqueue.Nothing})
			t.decide(now, p)
			continue
		}
		t.starts++
		p.acting, p.looked = t.starts, false
		verdict := t.rule(p).verdict(p.node.acting)
		p.unmarking, p.off = !verdict.DueAt(now), new(atomic.Bool)
		return Work{
			Pod:        p.key,
			Node:       p.node.name,
			Verdict:    verdict,
			Unmark:     p.unmarking,
			Marked:     p.marked,
			Generation: p.generation,
			Tries:      item.Tries,
			At:         now,
			node:       p.node.uid,
			taints:     p.node.taints,
			pod:        p.Pod,
			config:     t.config,
			held:       t.held,
			item:       item,
			start:      t.starts,
			off:        p.off,
		}, true
	}
}

// Finish takes what came of work. What the tracker has observed meanwhile counts
// more: a pod that was forgotten stays forgotten, and the next step of one that
// has changed is decided anew. A second Finish of the same work changes nothing.
func (t *Tracker) Finish(now time.Time, work Work, report Report) {
	now = t.advance(now)
	p := work.item.Value
	if p == nil || p.acting != work.start {
		return
	}
	p.acting, p.off, p.retryAt = 0, nil, time.Time{}
	if report.Pod != nil && report.Pod.UID == p.key.UID && !p.looked {
		p.marked = Marked(report.Pod)
	}
	result := timedqueue.Result{Outcome: timedqueue.Failed, Wait: report.Wait}
	switch report.Outcome {
	case Evicted, AlreadyGone:
		p.gone = true
		result = timedqueue.Result{}
	case Unmarked:
		p.marked = false
		result = timedqueue.Result{}
	case NotDue: // which is no failure, and does not lengthen the backoff of one
		p.retryAt = now.Add(max(report.Wait, cacheDelay))
		result = timedqueue.Result{Outcome: timedqueue.Nothing}
	}
	t.due.Finish(now, work.item, result)
	if t.pods[p.key.UID] != p {
		return
	}
	if waiting, ok := t.due.Get(p.key.UID); ok {
		p.retryAt = waiting.Due
	}
	t.decide(now, p)
}

// Next returns when Start can next hand something out.
func (t *Tracker) Next(now time.Time) (time.Time, bool) {
	if !t.synced {
		return time.Time{}, false
	}
	return t.due.Next(t.advance(now))
}

// cacheDelay is how long what a closer look found may take to reach the tracker.
const cacheDelay = time.Second
