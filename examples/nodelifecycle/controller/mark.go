package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A PodMark is what to do about a pod on a node that is not ready.
type PodMark struct {
	Action PodAction
	Pod    *corev1.Pod
	// Patch is empty for PodActionRead.
	Patch Patch

	episode   int // of the node
	item      timedqueue.Item[types.UID, *pod]
	startedAt time.Time
}

// PodAction is what a [PodMark] asks for, in the words of logs and metrics.
type PodAction string

const (
	// PodActionMark says that the pod is not ready either.
	PodActionMark PodAction = "mark pod not ready"
	// PodActionRead reads the pod from the API server, which has refused a mark
	// that was computed from this version of it.
	PodActionRead PodAction = "read pod"
)

// A marker is the core of the marks of pods.
type marker struct{ *Controller }

// markPods plans the marks of all pods of a node whose readiness may have
// changed. It returns how many pods it has visited.
func (c *Controller) markPods(now time.Time, n *node) int {
	if !n.notReady() {
		return 0
	}
	pods := c.podsOn[n.object.Name]
	for _, p := range pods {
		c.planMark(now, n, p)
	}
	return len(pods)
}

// planMark has a pod marked not ready if it needs that. In an episode in which
// a pod was marked no other waits.
func (c *Controller) planMark(now time.Time, n *node, p *pod) {
	if !needsMark(n, p) {
		return
	}
	p.wanted = n.episode
	next := now
	if n.markedEpisode != n.episode {
		n.marking.calmDown(now)
		next = latest(now, n.marking.next(false))
	}
	if c.marks.Add(PodID(p.object), p, next) && next.After(now) {
		c.damped++
	}
}

// Start hands out the next pod that has to be marked not ready. It may hand out
// none while thousands of pods need no mark any more.
func (c marker) Start(now time.Time) (PodMark, bool) {
	for range mostVisited {
		item, ok := c.marks.Start(now)
		if !ok {
			return PodMark{}, false
		}
		if mark, ok := c.markOf(now, item); ok {
			return mark, true
		}
		c.marks.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeSkipped})
	}
	return PodMark{}, false
}

// Next returns when a pod may next be marked.
func (c marker) Next(now time.Time) (time.Time, bool) { return c.marks.Next(now) }

// Finish takes the result of a mark, or of the read before it.
func (c marker) Finish(now time.Time, mark PodMark, result Result[*corev1.Pod]) {
	c.noteAnswer(now, mark.startedAt, mark.Action == PodActionMark && result.isStored())
	if mark.Action == PodActionRead {
		c.podRead(now, mark, result)
	} else {
		c.marked(now, mark, result)
	}
}

func (c *Controller) markOf(now time.Time, item timedqueue.Item[types.UID, *pod]) (PodMark, bool) {
	p := item.Value
	n := c.nodes[p.object.Spec.NodeName]
	if n == nil || !needsMark(n, p) {
		return PodMark{}, false
	}
	if _, must := c.staleness.pods[PodID(p.object)]; must {
		return PodMark{Action: PodActionRead, Pod: p.object, item: item}, true
	}
	data, change, err := nodehealth.PodNotReadyPatch(p.object, now)
	if err != nil || !change {
		return PodMark{}, false
	}
	patch := Patch{nodehealth.PatchType, data, "status"}
	return PodMark{PodActionMark, p.object, patch, n.episode, item, now}, true
}

// marked takes the result of a mark.
func (c *Controller) marked(now time.Time, mark PodMark, result Result[*corev1.Pod]) {
	p, known := c.pods[PodID(mark.Pod)]
	if known && result.Object != nil {
		p.marked = mark.episode
		c.announce(podReference(mark.Pod.Namespace, mark.Pod.Name, mark.Pod.UID),
			corev1.EventTypeWarning, "NodeNotReady", "Node is not ready")
	}
	err := result.failure()
	c.marks.Finish(now, mark.item, resultOf(err))
	if known {
		c.notePodRefusal(mark.Pod, err)
	}
	n := c.nodes[mark.Pod.Spec.NodeName]
	if n != nil && result.Object != nil && n.markedEpisode != mark.episode {
		n.markedEpisode = mark.episode
		n.marking.count(now)
	}
	if known && n != nil {
		c.planMark(now, n, p) // the node may have recovered and fallen again
	}
}
