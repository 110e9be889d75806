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
