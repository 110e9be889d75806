package controller

import (
	"time"

	"github.com/kubelife/lifecycle/nodehealth"
)

// declareNode hands out a silent node, unless its conditions are Unknown
// already.
func (c *Controller) declareNode(now time.Time) (Action, bool) {
	for {
		silent, ok := c.health.Start(now)
		if !ok {
			return nil, false
		}
		if silent.State == nodehealth.StateAlive {
			// Its kubelet writes that down, or has done so.
			c.health.Finish(now, silent, nodehealth.Result{Outcome: nodehealth.OutcomeDone})
			if c.config.Health.RecoveryPeriod > 0 {
				c.plan(now, c.nodes[silent.Key])
			}
			continue
		}
		n := c.nodes[silent.Key]
		data, change, err := nodehealth.UnknownPatch(n.object, now)
		if err != nil { // as for taints.Patch: no API server has such a node
			c.health.Finish(now, silent, nodehealth.Result{Err: err})
			continue
		}
		if !change {
			c.health.Finish(now, silent, nodehealth.Result{Outcome: nodehealth.OutcomeDone})
			continue
		}
		return DeclareUnknown{n.object, silent, Patch{nodehealth.PatchType, data, "status"}}, true
	}
}
