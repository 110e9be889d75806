package controller

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// wantsRelease reports whether a node should get a NoExecute taint, or be evicted, once
// its zone's rate allows.
func (c *Controller) wantsRelease(n *node) bool {
	if c.config.EvictionMode == ByNode {
		return n.saidIll() && !n.evicted
	}
	return n.saidIll() && !hasNoExecute(n.object.Spec.Taints)
}

// takeRelease lets one node that its zone's rate allows have its NoExecute taint, and
// makes it the next to be looked at. It takes no more than that one, and none of which a
// write is under way: a token that is used while the write cannot be sent yet is a
// token too many later, when the write is sent together with those for which the
// bucket has filled up meanwhile. With an API server that does not answer that is half
// a minute, and when the rate was zero in between nobody knows how long.
func (c *Controller) takeRelease(now time.Time) {
	if c.config.EvictionMode == ByNode {
		c.evictNodes(now)
		return
	}
	for {
		item, ok := c.releases.Start(now)
		if !ok {
			return
		}
		n := c.nodes[item.Key]
		if _, busy := c.writing[item.Key]; busy {
			c.passTurn(now, n, item)
			continue
		}
		n.release = &item
		if first := (time.Time{}); !c.nodeLooks.Add(item.Key, struct{}{}, first) {
			c.nodeLooks.Reschedule(item.Key, first) // it has waited for its turn already
		}
		return
	}
}

// passTurn lets others have the token, until the write of the node that is under way is
// over. The node keeps its place: it is not added again.
func (c *Controller) passTurn(now time.Time, n *node, item timedqueue.Item[string, struct{}]) {
	n.turn = item.Due
	c.releases.Reschedule(item.Key, now.Add(longerThanAnyWrite))
	c.releases.Finish(now, item, timedqueue.Result{Outcome: timedqueue.Nothing})
}

// longerThanAnyWrite is never waited for: the end of the write ends it.
const longerThanAnyWrite = 24 * time.Hour

// haveTurn gives a node the turn that it has passed.
func (c *Controller) haveTurn(n *node) {
	if !n.turn.IsZero() {
		c.releases.Reschedule(n.object.Name, n.turn)
		n.turn = time.Time{}
	}
}

func (c *Controller) finishRelease(now time.Time, n *node, outcome timedqueue.Outcome) {
	if n.release == nil {
		return
	}
	c.releases.Finish(now, *n.release, timedqueue.Result{Outcome: outcome})
	n.release = nil
}
