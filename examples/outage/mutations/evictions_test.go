//go:build !race

package mutations

import (
	"github.com/kubelife/lifecycle/examples/outage/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/mutant"
)

// ofEvictions are faults in how pods are made to leave: budgets, actions,
// PodDisruptionBudgets and whole nodes.
var ofEvictions = []mutant.Mutation{
	{
		Name:    "a failure gives its token back",
		Package: "eviction", Func: "(*Tracker) spends(outcome)",
		Rule:   "return true -> return outcome != OutcomeFailed",
		Caught: ordinary(invariant.WithinBudget).From(620),
	},
	{
		Name:    "budgets by node are ignored",
		Package: "timedqueue", Func: "(*Queue) laneOf",
		Rule: `s := q.share(b, v); w, o := s.bucket.until(t) ->
			s := q.share(b, v)
			w, o := s.bucket.until(t)
			if b.Name != "zone" { w = 0 }`,
		Caught: ordinary(invariant.WithinBudget),
	},
	{
		Name:    "the budget of all pods is ignored",
		Package: "timedqueue", Func: "(*Queue) addBudget",
		Rule:   "q.gates = append(q.gates, b) -> _ = q.gates",
		Caught: ordinary(invariant.WithinBudget),
	},
	{
		Name:    "a pod that a PodDisruptionBudget keeps counts as gone",
		Package: "eviction", Func: "(*Tracker) learn",
		Rule: `t.failed(n, e, a, o, r) ->
			if o == OutcomeBlocked { return leaving }
			t.failed(n, e, a, o, r)`,
		Caught: ordinary(invariant.InTime),
	},
	{
		Name:    "what is evicted at first is never deleted",
		Package: "eviction", Func: "EvictThenDelete",
		Rule:   "s >= a -> a < 0 && s >= a",
		Caught: ordinary(invariant.InTime),
	},
	{
		Name:    "what is to be evicted at first is deleted at once",
		Package: "eviction", Func: "EvictThenDelete(_, _, after)",
		Rule:   "t.ClearCondition -> t.ClearCondition || after > 0",
		Caught: ordinary(invariant.AsConfigured),
	},
	{
		Name:    "an eviction does not say which pod it is for",
		Package: "eviction", Func: "(*Evictor) Act",
		Rule: `metav1.DeleteOptions{Preconditions: p} ->
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: p.ResourceVersion}}`,
		Caught: ordinary(invariant.NeverEarly),
		Also:   []mutant.Catch{schedules},
	},
	{
		Name:    "taints from before the start evict no pod",
		Package: "eviction", Func: "(t *Tracker) ObserveNode",
		Rule:   "n.taints = o -> if t.synced { n.taints = o }",
		Caught: ordinary(invariant.InTime),
		Also:   []mutant.Catch{schedules},
	},
	{
		Name:    "a call whose answer is lost counts as an eviction",
		Package: "eviction", Func: "(*run) classify(_, err)",
		Rule:   "saysGone(err) -> saysGone(err) || CauseOf(err) == CauseTimeout",
		Caught: schedules,
	},
	{
		Name:    "a node that is ready again is emptied all the same",
		Package: controller, Func: "(*Controller) cancelEmptying",
		Rule:   "c.evictions.CancelNodeEviction(t, n.object.Name) ->",
		Caught: ordinary(invariant.SparedWhenReady),
	},
	{
		Name:    "a tainted node that is ready again loses its pods all the same",
		Package: controller, Func: "(*Controller) suspendTaintsOfReady",
		Rule:   "c.evictions.SuspendTaintsOn(t, n.object.Name, taints.OwnsNoExecute) ->",
		Caught: ordinary(invariant.SparedWhenReady).From(480),
	},
	{
		Name:    "pods of a tainted node that was ready again stay when it falls",
		Package: controller, Func: "(*Controller) suspendTaintsOfReady",
		Rule:   "c.evictions.SuspendTaintsOn(t, n.object.Name, nil) ->",
		Caught: ordinary(invariant.InTime).From(190),
	},
	{
		Name:    "nodes are emptied without a timeout",
		Package: controller, Func: "(*Controller) turnOf",
		Rule: `c.evictions.StartOf(n.notReadySince).Add(c.config.PodEvictionTimeout) ->
			c.evictions.StartOf(n.notReadySince)`,
		Caught: ordinary(invariant.TimeoutKept),
	},
	{
		Name:    "an outage of all zones does not begin the timeout again",
		Package: controller, Func: "(*Controller) turnOf",
		Rule:   "c.resumedAt.Add(c.config.PodEvictionTimeout) -> c.resumedAt",
		Caught: ordinary(invariant.TimeoutKept),
	},
	{
		Name:    "a node that is emptied uses no token",
		Package: controller, Func: "(*Controller) emptyNodes",
		Rule:   "c.isEmptying(i.Key) -> !c.isEmptying(i.Key)",
		Caught: ordinary(invariant.WithinRate),
	},
	{
		Name:    "pods of DaemonSets leave with their node",
		Package: "eviction", Func: "(*pod) nodeEviction",
		Rule:   "p.kind == ofDaemonSet -> false",
		Caught: ordinary(invariant.TimeoutKept),
	},
	{
		Name:    "nodes are tainted in both modes",
		Package: controller, Func: "(*Controller) writeNode",
		Rule: `if c.config.EvictionMode == EvictionModeNode { c.emptyNodes(t) }
			for range mostVisited {
				if c.config.EvictionMode != EvictionModeNode { c.takeRelease(t) }
				if a, s := c.startWrite(t, w); e { return a, s }
			} ->
			for range mostVisited {
				c.takeRelease(t)
				if a, s := c.startWrite(t, w); e { return a, s }
			}`,
		Caught: ordinary(invariant.AsConfigured),
	},
}
