package controller

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// wantsRelease reports whether a node should get a NoExecute taint, or be
// emptied, once its zone's rate allows. One that was declared and is heard again
// lives, and its kubelet is about to write that down.
func (c *Controller) wantsRelease(n *node) bool {
	if n.ready == corev1.ConditionUnknown && !c.isSilent(n) {
		return false
	}
	if c.config.EvictionMode == EvictionModeNode {
		return n.notReady() && !n.emptied
	}
	_, tainted := taints.NoExecute(n.ready)
	return tainted && !hasNoExecute(n.object.Spec.Taints)
}

// isSilent reports whether a node is silent, which was confirmed, and was not
// heard since.
func (c *Controller) isSilent(n *node) bool {
	name := n.object.Name
	confirmed := !n.silence.lasts() || n.silence.isConfirmed()
	return confirmed && c.health.Silent(name) && !c.health.Returning(name)
}

// planRelease makes a node wait for its zone's token, or not any more.
func (c *Controller) planRelease(n *node) {
	name := n.object.Name
	switch turn := c.turnOf(n); {
	case n.state.holdsToken(): // what it does with the token ends that
	case !c.wantsRelease(n):
		c.leaveReleases(n)
	case c.releases.Add(name, n, turn):
		n.turn = turn
		c.countQueued(n.zone, +1)
	case c.config.EvictionMode == EvictionModeNode, turn.After(n.turn):
		// It has fallen again, or a timeout has begun again.
		n.turn = turn
		c.releases.Set(name, n, turn)
	}
}

func (c *Controller) leaveReleases(n *node) {
	if c.releases.Remove(n.object.Name) {
		c.countQueued(n.zone, -1)
	}
}

// countQueued counts a node that comes to those that wait in a zone, or leaves.
func (c *Controller) countQueued(zone string, more int) {
	if c.queued[zone] += more; c.queued[zone] == 0 {
		delete(c.queued, zone)
	}
}

// turnOf returns when a node may be released at the earliest. After an outage
// of all zones the timeout of EvictionModeNode begins again: how long a node
// was really not ready is not known.
func (c *Controller) turnOf(n *node) time.Time {
	turn := c.zones.NotBefore(n)
	if c.config.EvictionMode != EvictionModeNode {
		return turn
	}
	return latest(turn,
		n.notReadySince.Add(c.config.PodEvictionTimeout),
		c.resumedAt.Add(c.config.PodEvictionTimeout))
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// notReadySince returns since when a node is not ready. The stored time counts,
// so that a restart does not begin the timeout again.
func (c *Controller) notReadySince(now time.Time, object *corev1.Node) time.Time {
	var changed *metav1.Time
	for i := range object.Status.Conditions {
		if ready := &object.Status.Conditions[i]; ready.Type == corev1.NodeReady {
			changed = &ready.LastTransitionTime
		}
	}
	return eviction.StartTime(changed, now, c.synced)
}

// takeRelease lets one node that its zone's rate allows have its NoExecute
// taint, and makes it the first in writes. It takes no more than that one, and
// none with a write under way. Else the token would be used after that write,
// in one moment with those that the zone has earned meanwhile. With an API
// server that does not answer that is half a minute.
func (c *Controller) takeRelease(now time.Time) {
	for {
		item, ok := c.startRelease(now)
		if !ok {
			return
		}
		n := item.Value
		added := c.writes.Add(item.Key, n, now)
		if e, _ := c.writes.Find(item.Key); c.writes.Acting(e) || n.mustRead() {
			// A write to a node of that name is under way, maybe to its former self, or
			// it has to be read first. The end of that gives the node its turn back.
			if added {
				c.writes.Drop(e)
			}
			c.releases.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomePostponed, Idle: true})
			continue
		}
		n.release = item
		c.enter(n, released)
		// It has waited for its turn already and comes before all others. It may have
		// been another kind of write, and backed off as that.
		c.writes.Retry(item.Key)
		c.writes.Set(item.Key, n, time.Unix(0, 0))
		return
	}
}

// resumeTurn gives a node back the turn that came while a write was under way.
func (c *Controller) resumeTurn(n *node) {
	if item, waits := c.releases.Get(n.object.Name); waits && item.Due.IsZero() {
		c.releases.Set(n.object.Name, n, n.turn)
	}
}

// finishRelease ends what a node does with its zone's token.
func (c *Controller) finishRelease(now time.Time, n *node, outcome timedqueue.Outcome) {
	if !n.state.holdsToken() {
		return
	}
	c.releases.Finish(now, n.release, timedqueue.Result{Outcome: outcome})
	n.release = timedqueue.Item[string, *node]{}
	if _, waits := c.releases.Get(n.object.Name); !waits {
		c.countQueued(n.zone, -1)
	}
}

// emptyNodes tells the pods of the nodes that their zones' rates allow to
// leave. A node without pods that leave for that costs no token: the next one
// need not wait.
func (c *Controller) emptyNodes(now time.Time) {
	for visited := 0; visited < mostVisited; {
		item, ok := c.startRelease(now)
		if !ok {
			return
		}
		n := item.Value
		visited += 1 + len(c.podsOn[item.Key])
		n.emptied = true
		c.evictions.EvictNode(now, item.Key, eviction.NodeRequest{Reason: "the node is not ready"})
		outcome := timedqueue.OutcomeSkipped
		if c.isEmptying(item.Key) {
			outcome = timedqueue.OutcomeDone
		}
		c.releases.Finish(now, item, timedqueue.Result{Outcome: outcome})
		c.countQueued(n.zone, -1)
	}
}

// isEmptying reports whether pods leave a node because it is emptied. Some may
// wait for the end of a toleration already and leave earlier now, so the number
// that waits does not tell.
func (c *Controller) isEmptying(name string) bool {
	return slices.ContainsFunc(c.podsOn[name], func(p *pod) bool {
		decision, known := c.evictions.Decision(PodID(p.object))
		return known && decision.Reason == eviction.ReasonNodeEvicted
	})
}

// cancelEmptying takes back that a node is emptied.
func (c *Controller) cancelEmptying(now time.Time, n *node) {
	if n.emptied {
		n.emptied = false
		c.evictions.CancelNodeEviction(now, n.object.Name)
	}
}
