package controller

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// ObserveNode takes a node as it is now: as the watch shows it, or as the API
// server has returned it. It is believed, whatever its version.
func (c *Controller) ObserveNode(now time.Time, object *corev1.Node) {
	c.evaluateLasting(now)
	n, known := c.nodes[object.Name]
	if known && n.object.UID != object.UID {
		c.ForgetNode(now, object.Name)
		known = false
	}
	if !known {
		n = &node{slot: len(c.ordered)}
		c.nodes[object.Name] = n
		c.ordered = append(c.ordered, n)
		c.announce(nodeReference(object), corev1.EventTypeNormal, "RegisteredNode",
			"Node %s event: Registered Node %s in Controller", object.Name, object.Name)
	}
	c.setNode(now, n, object)
}

// ForgetNode drops a node that was deleted.
func (c *Controller) ForgetNode(now time.Time, name string) {
	c.evaluateLasting(now)
	n, known := c.nodes[name]
	if !known {
		return
	}
	delete(c.nodes, name)
	c.removeOrdered(n)
	c.health.ForgetNode(now, name)
	c.forgetSilence(now, n)
	c.setBehind(now, n, false)
	c.zones.Forget(now, n)
	c.zoneChanged(now, -c.countedReady(n))
	c.evictions.ForgetNode(now, name)
	c.finishRelease(now, n, timedqueue.OutcomeDone) // the write with the taint is under way
	c.leaveReleases(n)
	c.leaveZone(now, n.zone)
	c.writes.Remove(name)
	c.untold.Remove(name)
	c.enter(n, resting)
	c.announce(nodeReference(n.object), corev1.EventTypeNormal, "RemovingNode",
		"Node %s event: Removing Node %s from Controller", name, name)
}

func (c *Controller) removeOrdered(n *node) {
	last := len(c.ordered) - 1
	moved := c.ordered[last]
	c.ordered[n.slot], moved.slot = moved, n.slot
	c.ordered[last] = nil
	c.ordered = c.ordered[:last]
}

// ObserveLease takes a lease of the namespace kube-node-lease. It reports
// whether Start or Next may have changed. The heartbeat of a healthy node makes
// nothing due earlier, and nearly all leases are that.
func (c *Controller) ObserveLease(now time.Time, lease *coordinationv1.Lease) (poll bool) {
	n, known := c.nodes[lease.Name]
	if known && c.onlyBeats(n, lease.Name) {
		c.health.ObserveLease(now, lease)
		if !c.followSight(now) {
			return false
		}
		c.count(now, n) // alone it was heard since
		return true
	}
	heard, wasSilent := c.health.HasHeartbeat(lease.Name), known && n.notReady() && c.isSilent(n)
	c.health.ObserveLease(now, lease)
	c.followSight(now)
	if !known {
		return true
	}
	c.setBehind(now, n, false)
	c.noticeHeartbeat(now, n)
	c.count(now, n)
	switch {
	case wasSilent && !c.isSilent(n):
		c.replan(now, n) // it does not wait for its zone any more
	case !heard:
		c.plan(now, n) // a first heartbeat vouches for its conditions
	}
	return true
}

// onlyBeats reports whether a heartbeat of a node changes nothing but when it
// was heard last. The first one after a blindness does. With a detector it may
// also end a grace period earlier. The name is passed because reading it from
// the node's object costs as much as the rest: nothing else of a heartbeat
// needs that memory.
func (c *Controller) onlyBeats(n *node, name string) bool {
	return n.state == steady && n.silence == nil && !n.behind && c.fixedGrace &&
		n.blindnesses == c.blindnesses && !c.health.Silent(name)
}

// ForgetLease drops a lease that was deleted.
func (c *Controller) ForgetLease(now time.Time, name string) {
	c.health.ForgetLease(now, name)
}

// ObservePod takes a pod as it is now, like ObserveNode. A pod without a node is
// none of the controller's; one that had a node is back from a backup of the API
// server's store.
func (c *Controller) ObservePod(now time.Time, object *corev1.Pod) {
	if object.Spec.NodeName == "" {
		c.ForgetPod(now, PodID(object))
		return
	}
	p, known := c.pods[PodID(object)]
	if known && p.object.Spec.NodeName != object.Spec.NodeName {
		c.ForgetPod(now, PodID(object)) // without a UID: it is another pod
		known = false
	}
	if !known {
		p = c.addPod(object)
	}
	c.setPod(now, p, object)
}

// ForgetPod drops a pod that was deleted. The id is that of [PodID].
func (c *Controller) ForgetPod(now time.Time, id types.UID) {
	p, known := c.pods[id]
	if !known {
		return
	}
	delete(c.pods, id)
	c.marks.Remove(id)
	delete(c.staleness.pods, id)
	c.evictions.ForgetPod(now, id)
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

func (c *Controller) addPod(object *corev1.Pod) *pod {
	on := object.Spec.NodeName
	p := &pod{slot: len(c.podsOn[on])}
	if n, known := c.nodes[on]; known {
		p.bound = n.episode
	}
	c.pods[PodID(object)] = p
	c.podsOn[on] = append(c.podsOn[on], p)
	return p
}

// setNode applies a node's newest version.
func (c *Controller) setNode(now time.Time, n *node, object *corev1.Node) {
	n.object, n.excluded = object, zone.Excluded(object)
	c.setZone(now, n)
	c.setReady(now, n)
	c.health.ObserveNode(now, object)
	c.followSight(now)
	c.evictions.ObserveNode(now, object)
	c.holdTaintsOfReady(now, n)
	c.noticeHeartbeat(now, n)
	c.count(now, n)
	c.replan(now, n)
}

// setZone moves a node to another zone.
func (c *Controller) setZone(now time.Time, n *node) {
	isNew, left, next := !n.counted, n.zone, c.config.ZoneOf(n.object)
	if !isNew && next == left {
		return
	}
	n.zone = next
	c.members[next]++
	if isNew {
		return
	}
	if e, waits := c.releases.Find(n.object.Name); waits {
		c.countQueued(left, -1)
		c.countQueued(next, +1)
		c.releases.Refile(e)
	}
	c.leaveZone(now, left)
}

// leaveZone takes a node out of a zone. With its last node the zone is gone,
// also when it was never evaluated.
func (c *Controller) leaveZone(now time.Time, left string) {
	if c.members[left]--; c.members[left] > 0 {
		return
	}
	delete(c.members, left)
	c.releases.RemoveShare(now, zoneBudget, left)
}

// setReady begins another episode when the readiness of a node has changed.
func (c *Controller) setReady(now time.Time, n *node) {
	ready := nodehealth.ReadyStatus(n.object)
	if ready == n.ready {
		return
	}
	wasNotReady := n.notReady()
	c.episodes++
	n.episode = c.episodes
	if n.ready = ready; n.notReady() && !wasNotReady {
		n.notReadySince, n.fell = c.notReadySince(now, n.object), n.episode
	}
	c.markPods(now, n)
}

// setPod applies a pod's newest version.
func (c *Controller) setPod(now time.Time, p *pod, object *corev1.Pod) {
	p.object = object
	c.evictions.ObservePod(now, object)
	if n := c.nodes[object.Spec.NodeName]; n != nil {
		c.planMark(now, n, p)
	}
}
