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

// Start hands out the write that declares a silent node. A node whose
// confirmation is too old is read again first.
func (c declarer) Start(now time.Time) (Declaration, bool) {
	for range mostVisited {
		item, ok := c.declarations.Start(now)
		if !ok {
			return Declaration{}, false
		}
		n := item.Value
		if n.mustRead() { // the end of the read resumes it
			c.declarations.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomePostponed, Idle: true})
			continue
		}
		if c.config.DeclareUnconfirmed && !c.health.Expired(now, item.Key) {
			c.declarations.Finish(now, item, timedqueue.Result{
				Outcome: timedqueue.OutcomePostponed, At: now.Add(readPeriod),
			})
			continue
		}
		if now.Sub(n.silence.confirmedAt) > confirmationLasts && !c.config.DeclareUnconfirmed {
			c.declarations.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
			c.enterSilence(n, suspected)
			continue
		}
		data, change, err := nodehealth.UnknownPatch(n.object, now)
		if err != nil { // as for taints.Patch: no API server has such a node
			c.declarations.Finish(now, item, resultOf(err))
			continue
		}
		if !change { // it is recorded already
			c.declarations.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
			c.endSilence(now, n, nodehealth.OutcomeDone)
			continue
		}
		c.enterSilence(n, declaring)
		patch := Patch{nodehealth.PatchType, data, "status"}
		return Declaration{n.object, patch, n.silence, item, now}, true
	}
	return Declaration{}, false
}

// Next returns when a node may next be declared.
func (c declarer) Next(now time.Time) (time.Time, bool) { return c.declarations.Next(now) }

// Finish takes the result of a declaration. What failed is tried again, also
// after an answer 404: only the watch says that a node is gone.
func (c declarer) Finish(now time.Time, d Declaration, result Result[*corev1.Node]) {
	c.noteAnswer(now, d.startedAt, result.isStored())
	if result.Object != nil && nodehealth.ReadyStatus(d.Node) == corev1.ConditionTrue {
		c.announce(nodeReference(d.Node), corev1.EventTypeNormal, "NodeNotReady",
			"Node %s status is now: NodeNotReady", d.Node.Name)
	}
	err := result.failure()
	c.declarations.Finish(now, d.item, resultOf(err))
	n := c.nodes[d.Node.Name]
	n.accepted(now, err)
	switch {
	case n == nil || n.silence != d.silence: // deleted meanwhile
		c.health.Finish(now, d.silence.task, nodehealth.Result{})
	case n.silence.state == overtaken:
		c.noteNodeRefusal(now, n, err)
		c.endSilence(now, n, nodehealth.OutcomeFailed)
	case err != nil:
		c.enterSilence(n, confirmed)
		if c.noteNodeRefusal(now, n, err); n.mustRead() {
			c.replan(now, n)
		}
	default:
		c.endSilence(now, n, nodehealth.OutcomeDone)
	}
}
