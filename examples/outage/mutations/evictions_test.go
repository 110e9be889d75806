//go:build !race

package mutations

import "github.com/kubelife/lifecycle/examples/outage/invariant"

// ofEvictions are faults in how pods are made to leave: budgets, actions,
// PodDisruptionBudgets and whole nodes.
var ofEvictions = []mutation{
	{
		name:     "a failure gives its token back",
		file:     "eviction/schedule.go",
		old:      `	if outcome != Evicted && outcome != Failed {`,
		with:     `	if outcome != Evicted {`,
		caughtBy: invariant.WithinBudget,
	},
	{
		name:     "budgets by node are ignored",
		file:     "eviction/schedule.go",
		old:      `s.budgets.exhausted(e, s.now); full != nil {`,
		with:     `s.budgets.exhausted(e, s.now); full != nil && s.now < 0 {`,
		caughtBy: invariant.WithinBudget,
	},
	{
		name:     "the budget of all pods is ignored",
		file:     "eviction/schedule.go",
		old:      `	if wait, ok := s.budgets.wait(s.now); !ok || wait > 0 {`,
		with:     `	if wait, ok := s.budgets.wait(s.now); !ok || wait > 0 && s.now < 0 {`,
		caughtBy: invariant.WithinBudget,
	},
	{
		name: "who a PodDisruptionBudget keeps counts as gone",
		file: "eviction/work.go",
		old: `	case NotDue, Failed, Blocked:
`,
		with: `	case NotDue, Failed:
	case Blocked:
		p.gone = true
`,
		caughtBy: invariant.InTime,
	},
	{
		name:     "who evicts at first deletes never",
		file:     "eviction/action.go",
		old:      `		if work.Unmark || work.At`,
		with:     `		if work.Unmark || after < 0 && work.At`,
		caughtBy: invariant.InTime,
	},
	{
		name:     "who evicts at first deletes at once",
		file:     "eviction/action.go",
		old:      `		if work.Unmark || work.At`,
		with:     `		if work.Unmark || after > 0 || work.At`,
		caughtBy: invariant.AsConfigured,
	},
	{
		name:     "an eviction does not say whom it is for",
		file:     "eviction/evict.go",
		old:      `DeleteOptions: &metav1.DeleteOptions{Preconditions: preconditions},`,
		with:     `DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: preconditions.ResourceVersion}},`,
		caughtBy: invariant.NeverEarly,
	},
	{
		name:     "a node that is ready again is emptied all the same",
		file:     "examples/nodelifecycle/controller/nodeeviction.go",
		old:      `		c.evictions.SpareNode(now, n.object.Name)`,
		with:     ``,
		caughtBy: invariant.SparedWhenReady,
	},
	{
		name:     "nodes are emptied without a timeout",
		file:     "examples/nodelifecycle/controller/nodeeviction.go",
		old:      `	if timeout := since.Add(c.config.PodEvictionTimeout); timeout`,
		with:     `	if timeout := since; timeout`,
		caughtBy: invariant.TimeoutKept,
	},
	{
		name:     "an outage of all zones does not begin the timeout anew",
		file:     "examples/nodelifecycle/controller/nodeeviction.go",
		old:      `	if since.Before(c.actsSince) {`,
		with:     `	if since.IsZero() {`,
		caughtBy: invariant.TimeoutKept,
	},
	{
		name:     "a node that is emptied uses no token",
		file:     "examples/nodelifecycle/controller/nodeeviction.go",
		old:      `		if c.empties(item.Key) {`,
		with:     `		if !c.empties(item.Key) {`,
		caughtBy: invariant.WithinRate,
	},
	{
		name:     "pods of DaemonSets leave with their node",
		file:     "eviction/tracker.go",
		old:      `	p.daemon = IsOfDaemonSet(observed)`,
		with:     `	p.daemon = false`,
		caughtBy: invariant.TimeoutKept,
	},
	{
		name: "nodes are tainted in both modes",
		file: "examples/nodelifecycle/controller/release.go",
		old: `	if c.config.EvictionMode == ByNode {
		c.evictNodes(now)
		return
	}
`,
		with:     ``,
		caughtBy: invariant.AsConfigured,
	},
}
