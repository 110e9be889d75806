package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

// pod is what is known of a pod that is bound to a node: the newest of what the
// cache and our own last write say.
type pod struct {
	object *corev1.Pod
	own    ownWrite
	slot   int // in podsOn
	// bound is the episode of its node in which it was first seen there, marked the
	// one in which it was last marked not ready.
	bound, marked int
}

// ObservePod takes a look at a pod as the cache has it.
func (c *Controller) ObservePod(now time.Time, object *corev1.Pod) {
	if object.Spec.NodeName == "" {
		return
	}
	p, known := c.pods[object.UID]
	if known && p.own.newer(now, object.ResourceVersion) {
		return
	}
	if !known {
		p = c.addPod(object)
	}
	c.setPod(now, p, object)
}

func (c *Controller) addPod(object *corev1.Pod) *pod {
	on := object.Spec.NodeName
	p := &pod{slot: len(c.podsOn[on])}
	if n, known := c.nodes[on]; known {
		p.bound = n.episode
	}
	c.pods[object.UID] = p
	c.podsOn[on] = append(c.podsOn[on], p)
	return p
}

// ForgetPod drops a pod that was deleted.
func (c *Controller) ForgetPod(uid types.UID) {
	p, known := c.pods[uid]
	if !known {
		return
	}
	delete(c.pods, uid)
	c.podLooks.Remove(uid)
	c.evictions.ForgetPod(uid)
	on := p.object.Spec.NodeName
	last := len(c.podsOn[on]) - 1
	moved := c.podsOn[on][last]
	c.podsOn[on][p.slot], moved.slot = moved, p.slot
	c.podsOn[on][last] = nil
	c.podsOn[on] = c.podsOn[on][:last]
	if last == 0 {
		delete(c.podsOn, on)
	}
}

// adoptPod takes a pod as the API server had it after a write of ours.
func (c *Controller) adoptPod(now time.Time, object *corev1.Pod) {
	if object == nil {
		return
	}
	p, known := c.pods[object.UID]
	if !known || older(object.ResourceVersion, p.object.ResourceVersion) {
		return
	}
	p.own = ownWrite{object.ResourceVersion, now}
	c.setPod(now, p, object)
}

func (c *Controller) setPod(now time.Time, p *pod, object *corev1.Pod) {
	p.object = object
	c.evictions.ObservePod(now, object)
	if n := c.nodes[object.Spec.NodeName]; n != nil {
		c.placePod(now, n, p)
	}
}

// lookAtPods looks at all pods of a node whose readiness may have changed.
func (c *Controller) lookAtPods(now time.Time, n *node) {
	if !n.saidIll() {
		return
	}
	for _, p := range c.podsOn[n.object.Name] {
		c.placePod(now, n, p)
	}
}

func (c *Controller) placePod(now time.Time, n *node, p *pod) {
	if needsMark(n, p) {
		c.podLooks.Add(p.object.UID, struct{}{}, now)
	}
}

// needsMark reports whether a pod has to be marked not ready. A kubelet that
// reports that its node is not ready is alive and reports on its pods itself, so
// of those only the ones that come later are marked, as upstream. Once in an
// episode is enough: a kubelet that disagrees would write the opposite for ever.
func needsMark(n *node, p *pod) bool {
	switch {
	case !n.saidIll(), p.marked == n.episode, p.object.DeletionTimestamp != nil:
		return false
	case n.ready == corev1.ConditionFalse && p.bound != n.episode:
		return false
	}
	for i := range p.object.Status.Conditions {
		if condition := &p.object.Status.Conditions[i]; condition.Type == corev1.PodReady {
			return condition.Status != corev1.ConditionFalse
		}
	}
	return false
}

// lookAtPod hands out the next pod that has to be marked not ready.
func (c *Controller) lookAtPod(now time.Time) (Action, bool) {
	for {
		look, ok := c.podLooks.Start(now)
		if !ok {
			return nil, false
		}
		if action, ok := c.podAction(now, c.pods[look.Key], look); ok {
			return action, true
		}
		c.podLooks.Finish(now, look, timedqueue.Result{Outcome: timedqueue.Nothing})
	}
}

func (c *Controller) podAction(now time.Time, p *pod, look timedqueue.Item[types.UID, struct{}]) (Action, bool) {
	n := c.nodes[p.object.Spec.NodeName]
	if n == nil || !needsMark(n, p) {
		return nil, false
	}
	data, change, err := nodehealth.PodNotReadyPatch(p.object, now)
	if err != nil || !change {
		return nil, false
	}
	return MarkPodNotReady{p.object, Patch{nodehealth.PatchType, data, "status"}, look}, true
}

func (c *Controller) marked(now time.Time, action MarkPodNotReady, result Result) {
	if p, known := c.pods[action.Pod.UID]; known && result.Pod != nil {
		if n := c.nodes[p.object.Spec.NodeName]; n != nil {
			p.marked = n.episode
		}
		c.tell(podReference(action.Pod.Namespace, action.Pod.Name, action.Pod.UID),
			corev1.EventTypeWarning, "NodeNotReady", "Node is not ready")
	}
	c.adoptPod(now, result.Pod)
	c.podLooks.Finish(now, action.look, resultOf(result.Err))
}

// evict hands out the next pod that has to leave.
func (c *Controller) evict(now time.Time) (Action, bool) {
	work, ok := c.evictions.Start(now)
	if !ok {
		return nil, false
	}
	return Evict{work}, true
}

func (c *Controller) evicted(now time.Time, action Evict, result Result) {
	c.adoptPod(now, result.Eviction.Pod)
	c.evictions.Finish(now, action.Work, result.Eviction)
	if result.Eviction.Outcome != eviction.Evicted {
		return
	}
	key := action.Work.Pod
	reference := podReference(key.Namespace, key.Name, key.UID)
	if action.Work.Verdict.Reason == eviction.NodeEvicted {
		c.tell(reference, corev1.EventTypeNormal, ReasonNodeEviction, "Marking for deletion Pod %s from Node %s", key, action.Work.Node)
		return
	}
	c.tell(reference, corev1.EventTypeNormal, ReasonEviction, "Marking for deletion Pod %s", key)
}

func podReference(namespace, name string, uid types.UID) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name, UID: uid}
}
