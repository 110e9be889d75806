package controller

import (
	"time"

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
		return DeclareUnknown{n.object, patch, n.silence, item}, true
	}
	return nil, false
}
