package explore

import (
	"slices"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// Shrink returns a scenario that still fails, and passes if any more step,
// zone, node, workload or process is taken away. It tries at most so many
// scenarios, and what it has by then it returns.
func Shrink(failing *scenario.Scenario, fails func(*scenario.Scenario) bool, tries int) *scenario.Scenario {
	best := failing
	for {
		smaller := firstThatFails(candidates(best), fails, &tries)
		if smaller == nil {
			return best
		}
		best = smaller
	}
}

func firstThatFails(all []*scenario.Scenario, fails func(*scenario.Scenario) bool, tries *int) *scenario.Scenario {
	for _, candidate := range all {
		if *tries == 0 {
			return nil
		}
		if candidate.Validate() != nil {
			continue
		}
		*tries--
		if fails(candidate) {
			return candidate
		}
	}
	return nil
}

// candidates returns scenarios that are a little smaller, those first from
// which most is gone.
func candidates(s *scenario.Scenario) []*scenario.Scenario {
	var all []*scenario.Scenario
	without := func(change func(*scenario.Scenario)) {
		c := s.Clone()
		change(c)
		all = append(all, c)
	}
	if s.Cluster.Kubelets {
		without(func(c *scenario.Scenario) { c.Cluster.Kubelets = false })
	}
	for i := range s.Script {
		without(func(c *scenario.Scenario) { c.Script = slices.Delete(c.Script, i, i+1) })
	}
	for i := range s.Cluster.Zones {
		if len(s.Cluster.Zones) > 1 {
			without(func(c *scenario.Scenario) { c.Cluster.Zones = slices.Delete(c.Cluster.Zones, i, i+1) })
		}
	}
	for i := range s.Cluster.Workloads {
		without(func(c *scenario.Scenario) { c.Cluster.Workloads = slices.Delete(c.Cluster.Workloads, i, i+1) })
	}
	if s.Controller.Replicas > 1 {
		without(func(c *scenario.Scenario) { c.Controller.Replicas-- })
	}
	for i := range s.Cluster.Zones {
		if zone := s.Cluster.Zones[i]; zone.Nodes > 1 {
			without(func(c *scenario.Scenario) { c.Cluster.Zones[i].Nodes, c.Cluster.Zones[i].Racks = zone.Nodes/2, 1 })
			without(func(c *scenario.Scenario) { c.Cluster.Zones[i].Nodes, c.Cluster.Zones[i].Racks = zone.Nodes-1, 1 })
		}
	}
	for i := range s.Cluster.Workloads {
		if replicas := s.Cluster.Workloads[i].Replicas; replicas > 1 {
			without(func(c *scenario.Scenario) { c.Cluster.Workloads[i].Replicas = replicas / 2 })
		}
	}
	for i := range s.Script {
		if step := &s.Script[i]; step.Over > 0 || step.RecoverOver > 0 {
			without(func(c *scenario.Scenario) { c.Script[i].Over, c.Script[i].RecoverOver = 0, 0 })
		}
	}
	return all
}
