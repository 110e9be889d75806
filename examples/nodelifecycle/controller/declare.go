package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

// declareNode hands out the write that declares a silent node. A node whose
// confirmation is too old is read again first.
func (c *Controller) declareNode(now time.Time) (Action, bool) {
	for range mostVisited {
		item, ok := c.declarations.Start(now)
		if !ok {
			return nil, false
		}
		n := item.Value
		if now.Sub(n.silence.confirmedAt) > confirmationLasts {
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
		return DeclareUnknown{n.object, patch, n.silence, item}, true
	}
	return nil, false
}

// declared takes the result of DeclareUnknown. What failed is tried again, also
// after an answer 404: only the watch says that a node is gone.
func (c *Controller) declared(now time.Time, action DeclareUnknown, result Result) {
	if result.Node != nil && nodehealth.ReadyStatus(action.Node) == corev1.ConditionTrue {
		c.announce(nodeReference(action.Node), corev1.EventTypeNormal, "NodeNotReady",
			"Node %s status is now: NodeNotReady", action.Node.Name)
	}
	c.declarations.Finish(now, action.item, resultOf(result.Err))
	c.adoptNode(now, result.Node)
	n := c.nodes[action.Node.Name]
	switch {
	case n == nil || n.silence != action.silence: // deleted meanwhile
		c.health.Finish(now, action.silence.task, nodehealth.Result{})
	case n.silence.state == overtaken:
		c.endSilence(now, n, nodehealth.OutcomeRetry)
	case result.Err != nil:
		c.enterSilence(n, confirmed)
	default:
		c.endSilence(now, n, nodehealth.OutcomeDone)
	}
}
