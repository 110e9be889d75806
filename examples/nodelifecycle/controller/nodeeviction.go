package controller

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// EvictionMode says what makes the pods of a node that is not ready leave.
type EvictionMode string

const (
	// ByTaint: the node gets a NoExecute taint when its zone's rate allows, and each pod
	// leaves when it does not tolerate that any longer. Taints that others set act in
	// both modes.
	ByTaint EvictionMode = "taint"
	// ByNode: when the node has not been ready for Config.PodEvictionTimeout and its
	// zone's rate allows, all its pods leave whatever they tolerate, but not those of
	// DaemonSets; and pods that come later leave at once. So did kube-controller-manager
	// before it had taints.
	ByNode EvictionMode = "node"
)

// defaultPodEvictionTimeout is that of kube-controller-manager's --pod-eviction-timeout,
// which went with v1.27.
const defaultPodEvictionTimeout = 5 * time.Minute

// A node is unmarked, to be evicted once it is in its zone's queue, or evicted.

// fell notes since when a node is ill. The stored time counts, so that a restart does
// not begin the timeout anew.
func (c *Controller) fell(now time.Time, n *node) {
	var changed *metav1.Time
	for i := range n.object.Status.Conditions {
		if ready := &n.object.Status.Conditions[i]; ready.Type == corev1.NodeReady {
			changed = &ready.LastTransitionTime
		}
	}
	n.illSince = eviction.Began(changed, now, c.synced)
}

// releaseAt returns when a node may be released by its zone's queue at the earliest.
// After an outage of all zones the timeout begins anew: nobody knows how long a node
// was really ill.
func (c *Controller) releaseAt(n *node) time.Time {
	at := c.zones.NotBefore(n.object.Name)
	if c.config.EvictionMode != ByNode {
		return at
	}
	since := n.illSince
	if since.Before(c.actsSince) {
		since = c.actsSince
	}
	if timeout := since.Add(c.config.PodEvictionTimeout); timeout.After(at) {
		return timeout
	}
	return at
}

// postpone makes a node that is in its zone's queue wait for another time.
func (c *Controller) postpone(n *node, due time.Time) {
	if c.config.EvictionMode == ByNode {
		c.releases.Reschedule(n.object.Name, due)
	}
}

// evictNodes evicts the nodes that their zones' rates allow.
func (c *Controller) evictNodes(now time.Time) {
	for {
		item, ok := c.releases.Start(now)
		if !ok {
			return
		}
		c.nodes[item.Key].evicted = true
		c.evictions.EvictNode(now, item.Key)
		outcome := timedqueue.Nothing // it has no pods that leave for it: the next node need not wait
		if c.empties(item.Key) {
			outcome = timedqueue.Done
		}
		c.releases.Finish(now, item, timedqueue.Result{Outcome: outcome})
	}
}

// empties reports whether pods leave a node because it is evicted. Some may wait for the
// end of a toleration already and leave earlier now, so it does not do to count who
// waits.
func (c *Controller) empties(node string) bool {
	return slices.ContainsFunc(c.podsOn[node], func(p *pod) bool {
		verdict, known := c.evictions.Verdict(p.object.UID)
		return known && verdict.Reason == eviction.NodeEvicted
	})
}

// spare takes back that a node is evicted.
func (c *Controller) spare(now time.Time, n *node) {
	if n.evicted {
		n.evicted = false
		c.evictions.SpareNode(now, n.object.Name)
	}
}
