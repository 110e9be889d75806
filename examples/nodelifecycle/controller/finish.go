package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/taints"
)

// Finish takes the result of a task. An object that the API server has returned
// for it must have been observed before, unless a newer one was.
func (c *Controller) Finish(now time.Time, task Task, result Result) {
	c.requests.Settle(now, task.grant, result.Unused)
	if task.hasWritten(result) {
		c.Answered(now, task.startedAt)
	}
	c.evaluateLasting(now)
	switch action := task.Action.(type) {
	case ReadLease:
		c.leaseRead(now, action, result.orFailed())
	case ListLeases:
		c.leasesListed(now, result.orFailed())
	case DeclareUnknown:
		c.declared(now, action, result.orFailed())
	case ReadNode:
		c.nodeRead(now, action, result.orFailed())
	case PatchTaints:
		undone := result.Node != nil && lacks(result.Node, action.Taints, now)
		c.finishWrite(now, action.item, result.orUndone(undone))
	case PatchLabels:
		undone := result.Node != nil && labelPatch(result.Node) != nil
		c.finishWrite(now, action.item, result.orUndone(undone))
	case ReadPod:
		c.podRead(now, action, result.orFailed())
	case MarkPodNotReady:
		c.marked(now, action, result.orFailed())
	case Evict:
		c.evicted(now, action, result)
	case Record:
	}
}

// lacks reports whether a node has other taints than were written, as far as
// they are ours to write.
func lacks(object *corev1.Node, written []corev1.Taint, now time.Time) bool {
	_, change := taints.Reconcile(object.Spec.Taints, written, owned, now)
	return change
}

// declared takes the result of DeclareUnknown. What failed is tried again, also
// after an answer 404: only the watch says that a node is gone.
func (c *Controller) declared(now time.Time, action DeclareUnknown, result Result) {
	if result.Node != nil && nodehealth.ReadyStatus(action.Node) == corev1.ConditionTrue {
		c.announce(nodeReference(action.Node), corev1.EventTypeNormal, "NodeNotReady",
			"Node %s status is now: NodeNotReady", action.Node.Name)
	}
	c.declarations.Finish(now, action.item, resultOf(result.Err))
	n := c.nodes[action.Node.Name]
	n.accepted(now, result.Err)
	switch {
	case n == nil || n.silence != action.silence: // deleted meanwhile
		c.health.Finish(now, action.silence.task, nodehealth.Result{})
	case n.silence.state == overtaken:
		c.noteNodeRefusal(now, n, result.Err)
		c.endSilence(now, n, nodehealth.OutcomeRetry)
	case result.Err != nil:
		c.enterSilence(n, confirmed)
		if c.noteNodeRefusal(now, n, result.Err); n.mustRead() {
			c.replan(now, n)
		}
	default:
		c.endSilence(now, n, nodehealth.OutcomeDone)
	}
}

func (c *Controller) marked(now time.Time, action MarkPodNotReady, result Result) {
	p, known := c.pods[PodID(action.Pod)]
	if known && result.Pod != nil {
		p.marked = action.episode
		c.announce(podReference(action.Pod.Namespace, action.Pod.Name, action.Pod.UID),
			corev1.EventTypeWarning, "NodeNotReady", "Node is not ready")
	}
	c.marks.Finish(now, action.item, resultOf(result.Err))
	if known {
		c.notePodRefusal(action.Pod, result.Err)
	}
	n := c.nodes[action.Pod.Spec.NodeName]
	if n != nil && result.Pod != nil && n.markedEpisode != action.episode {
		n.markedEpisode = action.episode
		n.marking.count(now)
	}
	if known && n != nil {
		c.planMark(now, n, p) // the node may have recovered and fallen again
	}
}

func (c *Controller) evicted(now time.Time, action Evict, result Result) {
	c.evictions.Finish(now, action.Task, result.Eviction)
	if result.Eviction.Err != nil {
		return
	}
	key := action.Task.Pod
	reference := podReference(key.Namespace, key.Name, key.UID)
	switch {
	case result.Eviction.Outcome != eviction.OutcomeEvicted:
	case action.Task.Decision.Reason == eviction.ReasonNodeEvicted:
		c.announce(reference, corev1.EventTypeNormal, ReasonNodeEviction,
			"Marking for deletion Pod %s from Node %s", key, action.Task.Node)
	default:
		c.announce(reference, corev1.EventTypeNormal, ReasonEviction,
			"Marking for deletion Pod %s", key)
	}
}
