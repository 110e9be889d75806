package controller

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A NodeChange is one thing to do to a node.
type NodeChange struct {
	Action NodeAction
	Node   *corev1.Node
	// Patch is empty for NodeActionRead.
	Patch Patch
	// Taints are all that the node has after NodeActionTaint.
	Taints []corev1.Taint
	// Released says that they include a NoExecute taint that the rate of Zone, the
	// node's, has released: the pods of the node are going to leave.
	Released bool
	Zone     string

	silent    bool // when it was handed out
	item      timedqueue.Item[string, *node]
	startedAt time.Time
}

// NodeAction is what a [NodeChange] asks for, in the words of logs and metrics.
type NodeAction string

const (
	// NodeActionTaint gives the node other taints.
	NodeActionTaint NodeAction = "patch taints"
	// NodeActionLabel makes the older operating system and architecture labels say
	// what the newer ones do.
	NodeActionLabel NodeAction = "patch labels"
	// NodeActionRead reads the node from the API server, which has refused a write
	// that was computed from this version of it.
	NodeActionRead NodeAction = "read node"
)

// A writer is the core of the writes to nodes that are no declarations, without
// what says which of them is next.
type writer struct{ *Controller }

// Finish takes the result of a write, or of the read before it.
func (c writer) Finish(now time.Time, change NodeChange, result Result[*corev1.Node]) {
	c.noteAnswer(now, change.startedAt, change.Action != NodeActionRead && result.isStored())
	if change.Action == NodeActionRead {
		c.nodeRead(now, change, result)
		return
	}
	err := result.failure()
	if err == nil && change.isUndone(now, result.Object) {
		err = errUndone
	}
	c.finishWrite(now, change.item, err)
}

// errUndone is why a write is tried again only after a backoff.
var errUndone = errors.New("the API server answers with an object that lacks what was written")

// isUndone reports whether a node lacks what was written. A write that a webhook
// has undone would be sent again at once, for ever.
func (c *NodeChange) isUndone(now time.Time, object *corev1.Node) bool {
	if c.Action == NodeActionLabel {
		return labelPatch(object) != nil
	}
	return lacks(object, c.Taints, now)
}

// lacks reports whether a node has other taints than were written, as far as
// they are ours to write.
func lacks(object *corev1.Node, written []corev1.Taint, now time.Time) bool {
	_, change := taints.Reconcile(object.Spec.Taints, written, owned, now)
	return change
}

// A recoverer is the core of the writes that take back a taint.
type recoverer struct{ writer }

// Start hands out the next recovery. Like that of otherWriter it may hand out
// none while thousands of nodes need no write any more.
func (c recoverer) Start(now time.Time) (NodeChange, bool) {
	for range mostVisited {
		if change, needed, more := c.startWrite(now, c.recoveries); needed || !more {
			return change, needed
		}
	}
	return NodeChange{}, false
}

// Next returns when a node may next be written to.
func (c recoverer) Next(now time.Time) (time.Time, bool) { return c.recoveries.Next(now) }

// An otherWriter is the core of the writes that take back no taint.
type otherWriter struct{ writer }

// Start hands out the next write that a node needs.
func (c otherWriter) Start(now time.Time) (NodeChange, bool) {
	if c.config.EvictionMode == EvictionModeNode {
		c.emptyNodes(now)
	}
	for range mostVisited {
		if c.config.EvictionMode != EvictionModeNode {
			c.takeRelease(now)
		}
		if change, needed, more := c.startWrite(now, c.otherWrites); needed || !more {
			return change, needed
		}
	}
	return NodeChange{}, false
}

// Next returns when a node may next be written to. It counts releases as well:
// each makes its node the first to be written.
func (c otherWriter) Next(now time.Time) (time.Time, bool) {
	write, writes := c.otherWrites.Next(now)
	release, releases := c.nextRelease(now)
	if !writes || releases && release.Before(write) {
		return release, releases
	}
	return write, true
}

// plan finds out what a node needs, unless that is known. A node that has
// changed itself is planned by replan.
func (c *Controller) plan(now time.Time, n *node) {
	if !c.isPlanned(n) {
		c.replan(now, n)
	}
}

// replan finds out what a node needs. It is called once for each time that the
// node is observed, and for all nodes when the hold changes. While a write is
// under way it leaves the taints to the plan at the end of that write. Only a
// token of the zone makes the wanted taints be computed again, with the
// NoExecute taint.
func (c *Controller) replan(now time.Time, n *node) {
	if n.state == steady {
		c.enter(n, resting)
	}
	if !n.notReady() && !c.recovering(n) || c.hold == holdOutage {
		c.cancelEmptying(now, n)
	}
	c.planRelease(n)
	if n.notReady() && !c.isActedOn(n) {
		c.willTell(now, n)
	}
	if n.state.underWay() || n.state.holdsToken() {
		return
	}
	n.pace.calmDown(now)
	wasDue := n.state == due
	wanted, change := c.wantedTaints(n, now, false)
	n.wanted, n.planned = nil, c.generation
	if change {
		n.wanted = wanted
	}
	switch {
	case change, labelPatch(n.object) != nil, n.mustRead():
		c.enter(n, due)
	case c.staysSo(n):
		c.enter(n, steady)
	default:
		c.enter(n, resting)
	}
	c.fileWrite(now, n, wasDue)
}

// staysSo reports whether a node that is as it should be is steady. That one is
// ready is believed once it was heard. When one may be emptied depends on the
// time of day.
func (c *Controller) staysSo(n *node) bool {
	if n.notReady() {
		return c.config.EvictionMode != EvictionModeNode || !c.wantsRelease(n)
	}
	return n.ready == corev1.ConditionTrue && c.health.HasHeartbeat(n.object.Name) && !c.recovering(n)
}

// isPlanned reports whether planning a node again would change nothing.
func (c *Controller) isPlanned(n *node) bool {
	return n.state == steady && n.planned == c.generation
}

// fileWrite puts what a node wants now into writes.
func (c *Controller) fileWrite(now time.Time, n *node, wasDue bool) {
	name := n.object.Name
	// One that waits after a failure goes on to wait, maybe as another kind.
	e, waits := c.writes.Find(name)
	if waits {
		c.writes.Refile(e)
	}
	if n.state != due {
		return
	}
	next := n.mayWriteAt()
	if !wasDue && !n.mustRead() && next.After(now) {
		c.damped++
	}
	switch {
	case !waits:
		c.writes.Add(name, n, latest(now, next))
	case n.pace.damped():
		c.hasten(name, next)
	}
}

// hasten makes a damped node that waits due earlier: it may protect pods now,
// which it did not before. If it is due too early, writeOf notices.
func (c *Controller) hasten(name string, next time.Time) {
	e, _ := c.writes.Find(name)
	item, _ := c.writes.Get(name)
	if !c.writes.Acting(e) && item.Attempts == 0 && next.Before(item.Due) {
		c.writes.Schedule(e, next)
	}
}

// startWrite starts a write of a kind, unless it turns out not to be needed. It
// reports whether there may be more of the kind.
func (c *Controller) startWrite(now time.Time, kind writes) (change NodeChange, needed, more bool) {
	item, ok := kind.Start(now)
	if !ok {
		return NodeChange{}, false, false
	}
	n := item.Value
	write, err := c.writeOf(now, n)
	if write == nil {
		c.writes.Finish(now, item, resultOfNone(now, n, err))
		return NodeChange{}, false, true
	}
	write.Node, write.item, write.startedAt = n.object, item, now
	return *write, true, true
}

// resultOfNone is the result of a write that was not handed out.
func resultOfNone(now time.Time, n *node, err error) timedqueue.Result {
	if at := n.mayWriteAt(); err == nil && n.state == due && at.After(now) {
		return timedqueue.Result{Outcome: timedqueue.OutcomePostponed, At: at}
	}
	return timedqueue.Result{Outcome: outcomeOf(err, timedqueue.OutcomeSkipped)}
}

// writeOf returns the write that a node needs, or nil. It returns an error if
// there can be none: the node has no UID to guard it with.
func (c *Controller) writeOf(now time.Time, n *node) (*NodeChange, error) {
	if n.state == released {
		write, err := c.writeReleased(now, n)
		if write != nil {
			return write, nil
		}
		c.finishRelease(now, n, c.unusedRelease(n, err))
		c.enter(n, resting)
		c.plan(now, n)
		if err != nil {
			return nil, err
		}
	}
	if n.planned != c.generation {
		c.enter(n, resting) // no sweep has come to it yet
		c.plan(now, n)
	}
	if n.state == due && n.mayWriteAt().After(now) {
		return nil, nil // it wants something else than when it began to wait
	}
	if n.mustRead() {
		c.enter(n, writing)
		return &NodeChange{Action: NodeActionRead, silent: n.silence.lasts()}, nil
	}
	if n.wanted != nil {
		data, err := taints.Patch(n.object, n.wanted)
		if err != nil {
			return nil, err
		}
		c.enter(n, writing)
		return n.taintWrite(data, n.wanted), nil
	}
	if data := labelPatch(n.object); data != nil {
		c.enter(n, writing)
		patch := Patch{Type: types.StrategicMergePatchType, Data: data}
		return &NodeChange{Action: NodeActionLabel, Patch: patch}, nil
	}
	return nil, nil
}

// unusedRelease is the outcome of a release that writes nothing. A node that
// wants to be released all the same backs off. With its token returned it would
// be released again at once, and Start would never return.
func (c *Controller) unusedRelease(n *node, err error) timedqueue.Outcome {
	if err != nil || c.wantsRelease(n) {
		return timedqueue.OutcomeFailed
	}
	return timedqueue.OutcomeSkipped
}

// writeReleased returns the write of a released node: its NoExecute taint
// together with all other changes. It returns nil if the node does not need
// that taint any more.
func (c *Controller) writeReleased(now time.Time, n *node) (*NodeChange, error) {
	if !c.wantsRelease(n) {
		return nil, nil
	}
	wanted, change := c.wantedTaints(n, now, true)
	if !change || !hasNoExecute(wanted) {
		return nil, nil
	}
	data, err := taints.Patch(n.object, wanted)
	if err != nil {
		return nil, err
	}
	c.enter(n, releasing)
	write := n.taintWrite(data, wanted)
	write.Released = true
	return write, nil
}

// taintWrite returns the write of the wanted taints.
func (n *node) taintWrite(data []byte, wanted []corev1.Taint) *NodeChange {
	return &NodeChange{
		Action: NodeActionTaint, Taints: wanted, Zone: n.zone,
		Patch: Patch{Type: taints.PatchType, Data: data},
	}
}

// finishWrite ends a write to a node of this name. The node may be another one
// by now, which has waited for that.
func (c *Controller) finishWrite(now time.Time, item timedqueue.Item[string, *node], err error) {
	written := item.Value
	if written.state == releasing {
		// After a failure it waits for another token.
		c.finishRelease(now, written, outcomeOf(err, timedqueue.OutcomeDone))
	}
	c.enter(written, resting)
	if err == nil {
		written.pace.count(now)
	}
	c.writes.Finish(now, item, resultOf(err))
	n, known := c.nodes[item.Key]
	if !known {
		return
	}
	if n == written {
		n.accepted(now, err)
		c.noteNodeRefusal(now, n, err)
	}
	c.resumeTurn(n)
	c.plan(now, n)
}

// resultOf is the result of a write. What failed is tried again, also when the
// object is gone: the watch says so soon, and until then a proxy may have said
// it.
func resultOf(err error) timedqueue.Result {
	return timedqueue.Result{Outcome: outcomeOf(err, timedqueue.OutcomeDone)}
}

// outcomeOf is the outcome given, unless there is an error.
func outcomeOf(err error, success timedqueue.Outcome) timedqueue.Outcome {
	if err != nil {
		return timedqueue.OutcomeFailed
	}
	return success
}
