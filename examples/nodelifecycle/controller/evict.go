package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
)

// An evictor is the core of the evictions of pods.
type evictor struct{ *Controller }

// Start hands out the next pod that has to leave its node.
func (c evictor) Start(now time.Time) (eviction.Task, bool) {
	for range mostPutOff {
		task, ok := c.evictions.Start(now)
		if !ok || !c.readsFirst(now, task) {
			return task, ok
		}
		c.evictions.Finish(now, task,
			eviction.Result{Outcome: eviction.OutcomeNotDue, RetryAfter: time.Second})
	}
	return eviction.Task{}, false
}

// mostPutOff bounds the evictions that one turn puts off because their nodes are
// read first. The end of a hold makes each of them cost a thousand decisions
// besides.
const mostPutOff = 20

// Next returns when a pod may next leave.
func (c evictor) Next(now time.Time) (time.Time, bool) { return c.evictions.Next(now) }

// ReasonEviction is the reason of the Event about a pod that is evicted. In
// kube-controller-manager that Event comes from another controller than the
// rest.
const ReasonEviction = "TaintManagerEviction"

// ReasonNodeEviction is its reason for a pod that leaves because its whole node
// is evicted. That one comes from the same controller as the rest.
const ReasonNodeEviction = "NodeControllerEviction"

// Finish takes the result of an eviction.
func (c evictor) Finish(now time.Time, task eviction.Task, result eviction.Result) {
	c.noteAnswer(now, task.StartedAt, result.Outcome == eviction.OutcomeEvicted)
	c.evictions.Finish(now, task, result)
	if result.Err != nil {
		return
	}
	key := task.Pod
	reference := podReference(key.Namespace, key.Name, key.UID)
	switch {
	case result.Outcome != eviction.OutcomeEvicted:
	case task.Decision.Reason == eviction.ReasonNodeEvicted:
		c.announce(reference, corev1.EventTypeNormal, ReasonNodeEviction,
			"Marking for deletion Pod %s from Node %s", key, task.Node)
	default:
		c.announce(reference, corev1.EventTypeNormal, ReasonEviction,
			"Marking for deletion Pod %s", key)
	}
}
