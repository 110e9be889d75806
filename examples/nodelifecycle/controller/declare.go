package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A Declaration says in the conditions of a node that it is silent.
type Declaration struct {
	Node  *corev1.Node
	Patch Patch

	silence   *silence
	item      timedqueue.Item[string, *node]
	startedAt time.Time
}

// A declarer is the core of the declarations of silent nodes.
type declarer struct{ *Controller }

// Start hands out the write that declares a silent node.
func (c declarer) Start(now time.Time) (Declaration, bool) {
	for range mostVisited {
		item, ok := c.silences.declarations.Start(now)
		if !ok {
			return Declaration{}, false
		}
		d, needed, follows := c.silences.declare(now, item)
		if needed {
			return d, true
		}
		c.follow(now, item.Value, follows)
	}
	return Declaration{}, false
}

// Next returns when a node may next be declared.
func (c declarer) Next(now time.Time) (time.Time, bool) {
	return c.silences.declarations.Next(now)
}

// Finish takes the result of a declaration. What failed is tried again, also
// after an answer 404: only the watch says that a node is gone.
func (c declarer) Finish(now time.Time, d Declaration, result Result[*corev1.Node]) {
	c.noteAnswer(now, d.startedAt, result.isStored())
	if result.Object != nil && nodehealth.ReadyStatus(d.Node) == corev1.ConditionTrue {
		c.told.announce(nodeReference(d.Node), corev1.EventTypeNormal, "NodeNotReady",
			"Node %s status is now: NodeNotReady", d.Node.Name)
	}
	err := result.failure()
	n := c.objects.nodes[d.Node.Name]
	n.accepted(now, err)
	if n != nil && n.silence == d.silence {
		c.writes.noteRefusal(now, n, err)
	}
	c.follow(now, n, c.silences.declared(now, n, d, err))
}
