package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
)

// The names of the holds of evictions, as eviction.Pending has them.
const (
	// HoldHalt: an operator has halted the controller.
	HoldHalt = "halt"
	// HoldZones: the taints of this controller evict nothing anywhere, because
	// zones are disrupted, or may be.
	HoldZones = "zones"
	// HoldReady: the taints of this controller evict nothing from a node, because
	// it reports that it is ready.
	HoldReady = "ready"
)

// holds are the holds of the eviction tracker. The first one that holds a pod is
// shown.
func holds() []eviction.Hold {
	return []eviction.Hold{
		{Name: HoldHalt},
		{Name: HoldZones, Taints: taints.OwnsNoExecute, Requests: true},
		{Name: HoldReady, Taints: taints.OwnsNoExecute},
	}
}

// ReasonEviction is the reason of the Event about a pod that is evicted. In
// kube-controller-manager that Event comes from another controller than the
// rest.
const ReasonEviction = "TaintManagerEviction"

// ReasonNodeEviction is its reason for a pod that leaves because its whole node
// is evicted. That one comes from the same controller as the rest.
const ReasonNodeEviction = "NodeControllerEviction"

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

// longestReadFirst bounds how long pods stay on a node that has to be read
// before they are evicted, when that fails. A node is not read again for that
// for as long: one whose kubelet sends heartbeats and reports nothing would keep
// its pods.
const longestReadFirst = 10 * time.Second

// readsFirst reports whether a node has to be read before a pod leaves it. It
// has if it was declared, which makes the pod leave, and is heard again. Its
// kubelet has written that down by now, or is about to, and the watch may have
// stalled.
func (c evictor) readsFirst(now time.Time, task eviction.Task) bool {
	n := c.objects.nodes[task.Node]
	if n == nil || n.ready != corev1.ConditionUnknown || c.silences.isSilent(n) ||
		!leavesForUs(task.Decision) {
		return false
	}
	if n.mustRead() {
		return now.Sub(n.readAt) < longestReadFirst
	}
	last, _ := c.silences.health.LastHeartbeat(task.Node)
	if !last.After(latest(n.wroteAt, n.lastRead)) || now.Sub(n.lastRead) < longestReadFirst {
		return false
	}
	n.readAt = now
	c.replan(now, n)
	return true
}

// leavesForUs reports whether a pod leaves because its node is not ready.
func leavesForUs(d eviction.Decision) bool {
	return d.Reason == eviction.ReasonNodeEvicted ||
		d.Leaves() && d.Reason != eviction.ReasonRequested && taints.OwnsNoExecute(&d.Taint.Taint)
}

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
		c.told.announce(reference, corev1.EventTypeNormal, ReasonNodeEviction,
			"Marking for deletion Pod %s from Node %s", key, task.Node)
	default:
		c.told.announce(reference, corev1.EventTypeNormal, ReasonEviction,
			"Marking for deletion Pod %s", key)
	}
}
