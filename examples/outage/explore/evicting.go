package explore

import (
	"time"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// evicting gives some worlds another way to make pods leave than that of
// kube-controller-manager: an action, budgets, PodDisruptionBudgets,
// priorities, whole nodes. Most are left as they are. It draws from a source of
// its own, so that the rest of a world does not depend on it.
func (g *generator) evicting() {
	if !g.chance(0.35) {
		return
	}
	flags := g.scenario.Controller.Flags
	if g.chance(0.6) {
		flags["action"] = pick[scenario.FlagValue](g, "evict", "evict", "evict-then-delete", "evict-then-delete", "dry-run")
		flags["evict-for"] = flagOf(pick(g, 20*time.Second, time.Minute, 3*time.Minute))
		g.disruptionBudgets()
	}
	if g.chance(0.5) {
		g.budgets()
	}
	if g.chance(0.3) {
		flags["low-priority-first"] = "true"
		for i := range g.scenario.Cluster.Workloads {
			g.scenario.Cluster.Workloads[i].Priority = pick(g, 0, 0, -5, 1000)
		}
	}
	if g.chance(0.2) {
		flags["spare-daemonset-pods"] = "true"
	}
	if g.chance(0.4) {
		timeout := pick(g, 15*time.Second, time.Minute, 2*time.Minute, 5*time.Minute)
		flags["eviction-mode"], flags["pod-eviction-timeout"] = "node", flagOf(timeout)
		g.untilEvicted += timeout
	}
}

// disruptionBudgets gives workloads PodDisruptionBudgets: some allow much, some
// nothing ever.
func (g *generator) disruptionBudgets() {
	for i := range g.scenario.Cluster.Workloads {
		if w := &g.scenario.Cluster.Workloads[i]; w.Replicas > 0 && g.chance(0.6) {
			w.MinAvailable = max(1, pick(g, w.Replicas/2, w.Replicas-1, w.Replicas-1, w.Replicas-2, w.Replicas))
		}
	}
}

// budgets are no slower than what a run has time for.
func (g *generator) budgets() {
	flags := g.scenario.Controller.Flags
	flags["budget-burst"] = pick[scenario.FlagValue](g, "1", "1", "2", "5")
	for _, one := range []struct {
		flag  string
		rates []scenario.FlagValue
	}{
		{"budget-overall", []scenario.FlagValue{"0.5", "1", "3"}},
		{"budget-per-node", []scenario.FlagValue{"0.1", "0.2", "1"}},
		{"budget-per-namespace", []scenario.FlagValue{"1", "2"}},
	} {
		if g.chance(0.5) {
			flags[one.flag] = pick(g, one.rates...)
		}
	}
}
