package controller

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

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

// errUndone is why a write is tried again only after a backoff.
var errUndone = errors.New("the API server answers with an object that lacks what was written")

// isUndone reports whether a node lacks what was written. A write that a webhook
// has undone would be sent again at once, for ever.
func (c *NodeChange) isUndone(
	now time.Time, object *corev1.Node, owned func(*corev1.Taint) bool,
) bool {
	if c.Action == NodeActionLabel {
		return labelPatch(object) != nil
	}
	_, lacks := taints.Reconcile(object.Spec.Taints, c.Taints, owned, now)
	return lacks
}

// taintChange returns the write of the taints that a node should have.
func taintChange(n *node, data []byte, wanted []corev1.Taint) *NodeChange {
	return &NodeChange{
		Action: NodeActionTaint, Taints: wanted, Zone: n.zone,
		Patch: Patch{Type: taints.PatchType, Data: data},
	}
}

// A writer is the core of the writes to nodes that are no declarations, without
// what says which of them is next.
type writer struct{ *Controller }

// start starts a write of a kind, unless it turns out not to be needed. It
// reports whether there may be more of the kind.
func (c writer) start(now time.Time, kind writesOfKind) (change NodeChange, needed, more bool) {
	item, ok := kind.Start(now)
	if !ok {
		return NodeChange{}, false, false
	}
	n := item.Value
	write, err := c.writeOf(now, n)
	if write == nil {
		c.writes.queue.Finish(now, item, resultOfNone(now, n, err))
		return NodeChange{}, false, true
	}
	write.Node, write.item, write.startedAt = n.object, item, now
	return *write, true, true
}

// writeOf returns the write that a node needs, or nil. It returns an error if
// there can be none: the node has no UID to guard it with.
func (c writer) writeOf(now time.Time, n *node) (*NodeChange, error) {
	if n.state == released {
		write, err := c.writes.ofReleased(now, n)
		if write != nil {
			return write, nil
		}
		c.writes.endUnused(now, n, err)
		c.plan(now, n)
		if err != nil {
			return nil, err
		}
	}
	if n.planned != c.zones.generation {
		c.writes.enter(n, resting) // no sweep has come to it yet
		c.plan(now, n)
	}
	return c.writes.ofDue(now, n)
}

// resultOfNone is the result of a write that was not handed out.
func resultOfNone(now time.Time, n *node, err error) timedqueue.Result {
	if at := n.mayWriteAt(); err == nil && n.state == due && at.After(now) {
		return timedqueue.Result{Outcome: timedqueue.OutcomePostponed, At: at}
	}
	return timedqueue.Result{Outcome: outcomeOf(err, timedqueue.OutcomeSkipped)}
}

// Finish takes the result of a write, or of the read before it.
func (c writer) Finish(now time.Time, change NodeChange, result Result[*corev1.Node]) {
	isRead, err := change.Action == NodeActionRead, result.failure()
	c.noteAnswer(now, change.startedAt, !isRead && result.isStored())
	if isRead {
		if err == nil {
			c.observeRead(now, change, result.Object)
		}
		c.writes.finishRead(now, change.item, err)
	} else {
		if err == nil && change.isUndone(now, result.Object, c.config.owned) {
			err = errUndone
		}
		c.writes.finish(now, change.item, err)
	}
	n := c.objects.nodes[change.item.Key]
	if n == nil {
		return
	}
	if isRead {
		c.silences.resumeDeclaration(n)
	} else if n == change.item.Value {
		n.accepted(now, err)
		c.writes.noteRefusal(now, n, err)
	}
	c.releases.resumeTurn(n)
	c.plan(now, n)
}

// observeRead takes a node as a live read has shown it. It may be another one
// of that name. Only the watch says that a node is gone.
func (c writer) observeRead(now time.Time, read NodeChange, live *corev1.Node) {
	n, known := c.objects.nodes[live.Name]
	if !known || !c.writes.noteRead(now, n, read, live) {
		return
	}
	if n.object != live {
		c.ObserveNode(now, live)
	}
	if read.silent && !c.objects.nodes[live.Name].silence.lasts() {
		c.silences.refuted++
	}
}

// A recoverer is the core of the writes that take back a taint.
type recoverer struct{ writer }

// Start hands out the next recovery. Like that of otherWriter it may hand out
// none while thousands of nodes need no write any more.
func (c recoverer) Start(now time.Time) (NodeChange, bool) {
	for range mostVisited {
		if change, needed, more := c.start(now, c.writes.recoveries); needed || !more {
			return change, needed
		}
	}
	return NodeChange{}, false
}

// Next returns when a node may next be written to.
func (c recoverer) Next(now time.Time) (time.Time, bool) { return c.writes.recoveries.Next(now) }

// An otherWriter is the core of the writes that take back no taint.
type otherWriter struct{ writer }

// Start hands out the next write that a node needs.
func (c otherWriter) Start(now time.Time) (NodeChange, bool) {
	visits := mostVisited
	for range mostVisited {
		c.writes.takeRelease(now, &visits)
		if change, needed, more := c.start(now, c.writes.others); needed || !more {
			return change, needed
		}
	}
	return NodeChange{}, false
}

// Next returns when a node may next be written to.
func (c otherWriter) Next(now time.Time) (time.Time, bool) { return c.writes.nextOther(now) }
