//go:build !race

package mutations

import "github.com/kubelife/lifecycle/examples/outage/invariant"

// ofEvictions are faults in how pods are made to leave: budgets, actions,
// PodDisruptionBudgets and whole nodes.
var ofEvictions = []mutation{
	{
		name: "a failure gives its token back",
		file: "eviction/start.go",
		old: `	switch outcome {
	case OutcomeAlreadyGone, OutcomeNotDue:
`,
		with: `	if outcome == OutcomeFailed {
		return false
	}
	switch outcome {
	case OutcomeAlreadyGone, OutcomeNotDue:
`,
		caughtBy: invariant.WithinBudget,
		first:    620,
	},
	{
		name:     "budgets by node are ignored",
		file:     "timedqueue/start.go",
		old:      `		if wait > longest {`,
		with:     `		if wait > longest && b.Name == "zone" {`,
		caughtBy: invariant.WithinBudget,
	},
	{
		name:     "the budget of all pods is ignored",
		file:     "timedqueue/queue.go",
		old:      `	q.gates = append(q.gates, b)`,
		with:     `	_ = q.gates`,
		caughtBy: invariant.WithinBudget,
	},
	{
		name: "a pod that a PodDisruptionBudget keeps counts as gone",
		file: "eviction/start.go",
		old: `	case OutcomeFailed, OutcomeBlocked:
		t.failed`,
		with: `	case OutcomeBlocked:
		return leaving
	case OutcomeFailed:
		t.failed`,
		caughtBy: invariant.InTime,
	},
	{
		name:     "what is evicted at first is never deleted",
		file:     "eviction/action.go",
		old:      `		if task.ClearCondition || task.StartedAt`,
		with:     `		if task.ClearCondition || after < 0 && task.StartedAt`,
		caughtBy: invariant.InTime,
	},
	{
		name:     "what is to be evicted at first is deleted at once",
		file:     "eviction/action.go",
		old:      `		if task.ClearCondition || task.StartedAt`,
		with:     `		if task.ClearCondition || after > 0 || task.StartedAt`,
		caughtBy: invariant.AsConfigured,
	},
	{
		name: "an eviction does not say which pod it is for",
		file: "eviction/act.go",
		old:  `DeleteOptions: &metav1.DeleteOptions{Preconditions: preconditions},`,
		with: `DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ` +
			`preconditions.ResourceVersion}},`,
		caughtBy: invariant.NeverEarly,
	},
	{
		name: "taints from before the start evict no pod",
		file: "eviction/observe.go",
		old: `	n.taints = next
	t.decideNode(now, n)
`,
		with: `	if t.synced {
		n.taints = next
	}
	t.decideNode(now, n)
`,
		caughtBy: invariant.InTime,
	},
	{
		name: "a call whose answer is lost counts as an eviction",
		file: "eviction/act.go",
		old: `	if saysGone(err) {
`,
		with: `	if saysGone(err) || CauseOf(err) == CauseTimeout {
`,
		caughtBy: invariant.InTime,
		in:       small,
	},
	{
		name:     "a node that is ready again is emptied all the same",
		file:     "examples/nodelifecycle/controller/release.go",
		old:      `		c.evictions.CancelNodeEviction(now, n.object.Name)`,
		with:     ``,
		caughtBy: invariant.SparedWhenReady,
	},
	{
		name:     "a tainted node that is ready again loses its pods all the same",
		file:     "examples/nodelifecycle/controller/taint.go",
		old:      `		c.evictions.SuspendTaintsOn(now, n.object.Name, taints.OwnsNoExecute)`,
		with:     ``,
		caughtBy: invariant.SparedWhenReady,
		first:    480,
	},
	{
		name:     "pods of a tainted node that was ready again stay when it falls",
		file:     "examples/nodelifecycle/controller/taint.go",
		old:      `		c.evictions.SuspendTaintsOn(now, n.object.Name, nil)`,
		with:     ``,
		caughtBy: invariant.InTime,
		first:    190,
	},
	{
		name:     "nodes are emptied without a timeout",
		file:     "examples/nodelifecycle/controller/release.go",
		old:      `		c.evictions.StartOf(n.notReadySince).Add(c.config.PodEvictionTimeout),`,
		with:     `		c.evictions.StartOf(n.notReadySince),`,
		caughtBy: invariant.TimeoutKept,
	},
	{
		name:     "an outage of all zones does not begin the timeout again",
		file:     "examples/nodelifecycle/controller/release.go",
		old:      `		c.resumedAt.Add(c.config.PodEvictionTimeout))`,
		with:     `		c.resumedAt)`,
		caughtBy: invariant.TimeoutKept,
	},
	{
		name:     "a node that is emptied uses no token",
		file:     "examples/nodelifecycle/controller/release.go",
		old:      `		if c.isEmptying(item.Key) {`,
		with:     `		if !c.isEmptying(item.Key) {`,
		caughtBy: invariant.WithinRate,
	},
	{
		name:     "pods of DaemonSets leave with their node",
		file:     "eviction/record.go",
		old:      `	if p.kind == ofDaemonSet {`,
		with:     `	if false {`,
		caughtBy: invariant.TimeoutKept,
	},
	{
		name: "nodes are tainted in both modes",
		file: "examples/nodelifecycle/controller/write.go",
		old: `	if c.config.EvictionMode == EvictionModeNode {
		c.emptyNodes(now)
	}
	for range mostVisited {
		if c.config.EvictionMode != EvictionModeNode {
			c.takeRelease(now)
		}
`,
		with: `	for range mostVisited {
		c.takeRelease(now)
`,
		caughtBy: invariant.AsConfigured,
	},
}
