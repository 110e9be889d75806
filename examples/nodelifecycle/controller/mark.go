package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

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

// markPod hands out the next pod that has to be marked not ready. It may hand
// out none while thousands of pods need no mark any more.
func (c *Controller) markPod(now time.Time) (Action, bool) {
	for range mostVisited {
		item, ok := c.marks.Start(now)
		if !ok {
			return nil, false
		}
		if action, ok := c.markOf(now, item); ok {
			return action, true
		}
		c.marks.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeSkipped})
	}
	return nil, false
}

func (c *Controller) markOf(now time.Time, item timedqueue.Item[types.UID, *pod]) (Action, bool) {
	p := item.Value
	n := c.nodes[p.object.Spec.NodeName]
	if n == nil || !needsMark(n, p) {
		return nil, false
	}
	if _, must := c.staleness.pods[PodID(p.object)]; must {
		return ReadPod{p.object, item}, true
	}
	data, change, err := nodehealth.PodNotReadyPatch(p.object, now)
	if err != nil || !change {
		return nil, false
	}
	patch := Patch{nodehealth.PatchType, data, "status"}
	return MarkPodNotReady{p.object, patch, n.episode, item}, true
}
