package controller

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// node is what is known of a node: the newest of what the cache and our own last
// write say.
type node struct {
	object *corev1.Node
	own    ownWrite
	slot   int // in roll
	zone   string
	ready  corev1.ConditionStatus // empty while nobody has said
	// counts is how its zone counts it, once it is counted.
	counts  zone.Node
	counted bool
	// episode is the time since which Ready is as it is: a number that no other
	// episode of any node has. Pods are marked not ready once in each.
	episode int
	// settled is the object if it needs nothing as long as it stays as it is: it is
	// ready, heard of and as it should be. Nearly all nodes are, nearly always.
	settled *corev1.Node
	// release is what the zone's queue has handed out while the taint that it
	// allows is being written.
	release *timedqueue.Item[string, struct{}]
	// turn is when its turn in the zone's queue was, if that came while another write
	// of the node was under way. Zero if it did not.
	turn time.Time
	// illSince is since when it was said not to be ready. evicted says that all its pods
	// have to leave. Both are for ByNode.
	illSince time.Time
	evicted  bool
}

// ownWrite remembers the version of an object that we have written ourselves.
type ownWrite struct {
	version string
	at      time.Time
}

// newer reports whether our own write is newer than what the cache shows.
func (w *ownWrite) newer(now time.Time, version string) bool {
	if w.version == "" {
		return false
	}
	if older(version, w.version) && now.Before(w.at.Add(ownWriteCounts)) {
		return true
	}
	w.version = ""
	return false
}

// ObserveNode takes a look at a node as the cache has it.
func (c *Controller) ObserveNode(now time.Time, object *corev1.Node) {
	c.judgeWhatStood(now)
	n, known := c.nodes[object.Name]
	if known && n.object.UID != object.UID {
		c.ForgetNode(now, object.Name)
		known = false
	}
	if known && n.own.newer(now, object.ResourceVersion) {
		return
	}
	if !known {
		n = &node{slot: len(c.roll)}
		c.nodes[object.Name] = n
		c.roll = append(c.roll, n)
		c.tell(nodeReference(object), corev1.EventTypeNormal, "RegisteredNode",
			"Node %s event: Registered Node %s in Controller", object.Name, object.Name)
	}
	c.setNode(now, n, object)
}

// ForgetNode drops a node that was deleted.
func (c *Controller) ForgetNode(now time.Time, name string) {
	c.judgeWhatStood(now)
	n, known := c.nodes[name]
	if !known {
		return
	}
	delete(c.nodes, name)
	c.strike(n)
	c.health.ForgetNode(name)
	c.zones.Forget(name)
	c.unjudged, c.soiled = true, now
	c.stand(now, -standing(n.counts))
	c.evictions.ForgetNode(now, name)
	c.finishRelease(now, n, timedqueue.Done) // the write with the taint is under way
	c.releases.Remove(name)
	c.nodeLooks.Remove(name)
	c.tell(nodeReference(n.object), corev1.EventTypeNormal, "RemovingNode",
		"Node %s event: Removing Node %s from Controller", name, name)
}

// strike takes a node off the roll.
func (c *Controller) strike(n *node) {
	last := len(c.roll) - 1
	moved := c.roll[last]
	c.roll[n.slot], moved.slot = moved, n.slot
	c.roll[last] = nil
	c.roll = c.roll[:last]
}

// ObserveLease takes a look at a lease of the namespace kube-node-lease.
func (c *Controller) ObserveLease(now time.Time, lease *coordinationv1.Lease) {
	heard := c.health.Heard(lease.Name)
	c.health.ObserveLease(now, lease)
	if heard {
		return
	}
	if n, known := c.nodes[lease.Name]; known {
		c.place(now, n) // a first heartbeat vouches for its conditions
	}
}

// ForgetLease drops a lease that was deleted.
func (c *Controller) ForgetLease(name string) { c.health.ForgetLease(name) }

// adoptNode takes a node as the API server had it after a write of ours.
func (c *Controller) adoptNode(now time.Time, object *corev1.Node) {
	if object == nil {
		return
	}
	n, known := c.nodes[object.Name]
	if !known || n.object.UID != object.UID || older(object.ResourceVersion, n.object.ResourceVersion) {
		return
	}
	n.own = ownWrite{object.ResourceVersion, now}
	c.setNode(now, n, object)
}

func older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// setNode tells everyone of a node's newest version.
func (c *Controller) setNode(now time.Time, n *node, object *corev1.Node) {
	n.object = object
	n.zone = c.config.ZoneOf(object)
	if ready := nodehealth.ReadyStatus(object); ready != n.ready {
		wasIll := n.saidIll()
		if n.ready = ready; n.saidIll() && !wasIll {
			c.fell(now, n)
		}
		c.episodes++
		n.episode = c.episodes
		c.lookAtPods(now, n)
	}
	c.health.ObserveNode(now, object)
	c.evictions.ObserveNode(now, object)
	counts := zone.Node{Zone: n.zone, Ready: n.ready == corev1.ConditionTrue, Excluded: zone.Excluded(object)}
	if !n.counted || counts != n.counts {
		c.zones.Observe(now, object.Name, counts)
		c.unjudged, c.soiled = true, now
		c.stand(now, standing(counts)-standing(n.counts)) // of one that was not counted that is 0
		n.counted, n.counts = true, counts
	}
	c.place(now, n)
}

// place puts a node into the queues that it belongs in, and reports whether it
// needs a write.
func (c *Controller) place(now time.Time, n *node) bool {
	if n.settled == n.object && n.release == nil {
		return false
	}
	name := n.object.Name
	if !n.saidIll() {
		c.spare(now, n)
	}
	if c.wantsRelease(n) {
		due := c.releaseAt(n)
		if !c.releases.Add(n.zone, name, struct{}{}, due) {
			c.releases.Move(name, n.zone)
			c.postpone(n, due)
		}
	} else if n.release == nil {
		c.releases.Remove(name)
		n.turn = time.Time{}
	}
	if !c.needsWrite(n, now) {
		if n.release == nil && n.ready == corev1.ConditionTrue && c.health.Heard(name) {
			n.settled = n.object
		}
		return false
	}
	c.nodeLooks.Add(name, struct{}{}, now)
	return true
}

// saidIll reports whether a node was said not to be ready, by its kubelet or by us.
// One of which nothing was said is starting, which is not ill.
func (n *node) saidIll() bool { return n.ready != "" && n.ready != corev1.ConditionTrue }

func (c *Controller) needsWrite(n *node, now time.Time) bool {
	_, change := c.wantedTaints(n, now)
	return change || labelPatch(n.object) != nil
}

// wantedTaints returns the taints that a node should have now, and whether that
// is a change. The NoExecute taint is kept, swapped or removed at any time; it is
// added only when the zone's queue has released the node.
//
// A node that is tainted as ill but says that it is ready keeps its taints until
// it is heard of: at our start it may have said so a moment before it died. So does
// one that says nothing: the API server taints it when it is created.
func (c *Controller) wantedTaints(n *node, now time.Time) ([]corev1.Taint, bool) {
	var room [8]corev1.Taint
	desired := taints.AppendNoSchedule(room[:0], n.object)
	noExecute, ill := taints.NoExecute(n.ready)
	if ill && !c.lifted && (n.release != nil || hasNoExecute(n.object.Spec.Taints)) {
		desired = append(desired, noExecute)
	}
	if n.ready == "" || !ill && !c.health.Heard(n.object.Name) {
		return taints.Reconcile(n.object.Spec.Taints, desired, c.ownedUnheard, now)
	}
	return taints.Reconcile(n.object.Spec.Taints, desired, owned, now)
}

// ownedUnheard leaves out what only a heartbeat can take away, or an outage of all
// zones.
func (c *Controller) ownedUnheard(t *corev1.Taint) bool {
	if c.lifted && taints.OwnsNoExecute(t) {
		return true
	}
	return owned(t) && t.Key != corev1.TaintNodeNotReady && t.Key != corev1.TaintNodeUnreachable
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

// declare hands out a silent node, unless it says Unknown already.
func (c *Controller) declare(now time.Time) (Action, bool) {
	for {
		silent, ok := c.health.Start(now)
		if !ok {
			return nil, false
		}
		n := c.nodes[silent.Name]
		data, change, err := nodehealth.UnknownPatch(n.object, now)
		if err != nil { // as for taints.Patch: no API server has such a node
			c.health.Finish(now, silent, nodehealth.Undecided)
			continue
		}
		if !change {
			c.health.Finish(now, silent, nodehealth.Declared)
			continue
		}
		return DeclareUnknown{n.object, silent, Patch{nodehealth.PatchType, data, "status"}}, true
	}
}

func (c *Controller) declared(now time.Time, action DeclareUnknown, result Result) {
	finding := nodehealth.Declared
	switch {
	case result.Alive:
		finding = nodehealth.Alive
	case result.Err != nil && !apierrors.IsNotFound(result.Err):
		finding = nodehealth.Undecided
	}
	c.health.Finish(now, action.Silent, finding)
	c.adoptNode(now, result.Node)
	if n, known := c.nodes[action.Node.Name]; known && result.Alive {
		c.place(now, n) // it is heard of now, which vouches for its conditions
	}
	if result.Node != nil && nodehealth.ReadyStatus(action.Node) == corev1.ConditionTrue {
		c.tell(nodeReference(action.Node), corev1.EventTypeNormal, "NodeNotReady",
			"Node %s status is now: NodeNotReady", action.Node.Name)
	}
}

// lookAtNode hands out the next write that a node needs.
func (c *Controller) lookAtNode(now time.Time) (Action, bool) {
	for {
		c.takeRelease(now)
		look, ok := c.nodeLooks.Start(now)
		if !ok {
			return nil, false
		}
		if action := c.nodeAction(now, c.nodes[look.Key], look); action != nil {
			c.writing[look.Key] = struct{}{}
			return action, true
		}
		c.nodeLooks.Finish(now, look, timedqueue.Result{Outcome: timedqueue.Nothing})
	}
}

func (c *Controller) nodeAction(now time.Time, n *node, look timedqueue.Item[string, struct{}]) Action {
	if next, change := c.wantedTaints(n, now); change {
		data, err := taints.Patch(n.object, next)
		if err == nil { // it fails for a node without a UID, which no API server has
			return PatchTaints{n.object, next, Patch{Type: taints.PatchType, Data: data}, n.zone, n.release != nil, look}
		}
	}
	c.finishRelease(now, n, timedqueue.Nothing)
	if data := labelPatch(n.object); data != nil {
		return PatchLabels{n.object, Patch{Type: types.StrategicMergePatchType, Data: data}, look}
	}
	return nil
}

func (c *Controller) tainted(now time.Time, action PatchTaints, result Result) {
	n, known := c.nodes[action.Node.Name]
	if known && n.object.UID == action.Node.UID && action.Released {
		outcome := timedqueue.Done
		if result.Err != nil {
			outcome = timedqueue.Failed // it waits for another token
		}
		c.finishRelease(now, n, outcome)
		if outcome == timedqueue.Failed {
			c.place(now, n) // it may have recovered meanwhile, and not wait any more
		}
	}
	c.adoptNode(now, result.Node)
	c.finishLook(now, action.look, result.Err)
}

// finishLook ends a look at a node, and looks again if there is more to write.
func (c *Controller) finishLook(now time.Time, look timedqueue.Item[string, struct{}], err error) {
	result := resultOf(err)
	c.nodeLooks.Finish(now, look, result)
	delete(c.writing, look.Key)
	n, known := c.nodes[look.Key]
	if !known {
		return
	}
	c.haveTurn(n)
	if result.Outcome != timedqueue.Failed {
		c.place(now, n)
	}
}

// resultOf says whether a write has to be tried again: not when its object is
// gone.
func resultOf(err error) timedqueue.Result {
	if err == nil || apierrors.IsNotFound(err) {
		return timedqueue.Result{Outcome: timedqueue.Done}
	}
	return timedqueue.Result{Outcome: timedqueue.Failed}
}

// labelPairs are the labels of which the second has to say what the first does.
// Source: labelReconcileInfo of kube-controller-manager v1.37.
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

func nodeReference(object *corev1.Node) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: object.Name, UID: object.UID}
}
