package controller

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/taints"
)

// wantedTaints returns the taints that a node should have now, and whether that
// is a change. A NoExecute taint of ours is kept, swapped or removed at any
// time; it is added only to a node that its zone has released.
//
// A node that is tainted as not ready but reports that it is ready keeps its
// taints until it is heard of. At our start it may have reported that right
// before it died. So does a node that reports nothing: the API server taints it
// when it is created. So does a node in its recovery period.
func (c *Controller) wantedTaints(
	n *node, now time.Time, withNoExecute bool,
) ([]corev1.Taint, bool) {
	c.watch.computed++
	var room [8]corev1.Taint
	desired := taints.AppendNoSchedule(room[:0], n.object)
	noExecute, notReady := taints.NoExecute(n.ready)
	if notReady && c.hold != holdOutage && (withNoExecute || hasNoExecute(n.object.Spec.Taints)) {
		desired = append(desired, noExecute)
	}
	removable := owned
	if n.ready == "" || !notReady && !c.health.HasHeartbeat(n.object.Name) {
		removable = c.ownedUnheard
	}
	if c.recovering(n) {
		removable = c.ownedUnheard
	}
	return taints.Reconcile(n.object.Spec.Taints, desired, removable, now)
}

// ownedUnheard leaves out the taints that only a heartbeat, or an outage of all
// zones, can remove.
func (c *Controller) ownedUnheard(t *corev1.Taint) bool {
	if c.hold == holdOutage && taints.OwnsNoExecute(t) {
		return true
	}
	return owned(t) && t.Key != corev1.TaintNodeNotReady && t.Key != corev1.TaintNodeUnreachable
}

// holdTaintsOfReady keeps the pods of a node that reports that it is ready
// from leaving for our taints. Those are about to go: with the next write, or
// after a start with the first heartbeat. A deadline that passes before that
// must not make pods leave a living node, for example one that came back while
// no replica led. One that died after its report is found silent, and its pods
// leave then. In its recovery period a node has its taints on purpose, and they
// act.
func (c *Controller) holdTaintsOfReady(now time.Time, n *node) {
	held := hasNoExecute(n.object.Spec.Taints) && n.ready == corev1.ConditionTrue && !c.recovering(n)
	c.evictions.SetHold(now, HoldReady, n.object.Name, held)
}

func owned(t *corev1.Taint) bool { return taints.OwnsNoSchedule(t) || taints.OwnsNoExecute(t) }

func hasNoExecute(all []corev1.Taint) bool {
	for i := range all {
		if taints.OwnsNoExecute(&all[i]) {
			return true
		}
	}
	return false
}

// mayWriteAt returns when what a node wants may be written, or the node read
// before that, and the zero time if that needs no wait.
func (n *node) mayWriteAt() time.Time {
	if n.mustRead() {
		return n.readAt
	}
	return n.pace.next(n.pace.damped() && n.protects())
}

// protects reports whether the taints that a node wants protect pods. They do
// if they keep pods from a node that cannot run them, or from leaving one that
// can. So a node that flaps is closed soon and opened late, and stays closed in
// between. Swapping a taint that closes the node for another one may wait. So
// may labels, pressure, which most pods tolerate, and spec.unschedulable, which
// the scheduler reads itself.
func (n *node) protects() bool {
	has := n.object.Spec.Taints
	return n.wanted != nil && (!closed(has) && closed(n.wanted) ||
		hasNoExecute(has) && !hasNoExecute(n.wanted))
}

// closed reports whether a node takes no new pods because it cannot run them.
func closed(all []corev1.Taint) bool {
	for i := range all {
		if !taints.OwnsNoSchedule(&all[i]) {
			continue
		}
		switch all[i].Key {
		case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable,
			corev1.TaintNodeNetworkUnavailable:
			return true
		}
	}
	return false
}

// labelPairs are pairs of labels; the second must equal the first. Source:
// labelReconcileInfo of kube-controller-manager v1.37.
var labelPairs = [...]struct{ from, to string }{
	{corev1.LabelOSStable, "beta.kubernetes.io/os"},
	{corev1.LabelArchStable, "beta.kubernetes.io/arch"},
}

// labelPatch returns the patch that makes the labels agree, or nil.
func labelPatch(object *corev1.Node) []byte {
	var labels map[string]string
	for _, pair := range labelPairs {
		value, there := object.Labels[pair.from]
		if old, has := object.Labels[pair.to]; !there || has && old == value {
			continue
		}
		if labels == nil {
			labels = make(map[string]string, len(labelPairs))
		}
		labels[pair.to] = value
	}
	if labels == nil {
		return nil
	}
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": object.UID, "labels": labels},
	})
	if err != nil {
		return nil // maps of strings always encode
	}
	return data
}
