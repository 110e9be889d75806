//go:build !race

package mutations

import (
	"github.com/kubelife/lifecycle/examples/outage/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/mutant"
)

// ofMassFailure are faults that show when many nodes fail at once, when the API
// server cannot be heard, or when something lies.
var ofMassFailure = []mutant.Mutation{
	{
		Name:    "a zone counts silent nodes only when that is written",
		Package: controller, Func: "(*Controller) countsInZone",
		Rule:   "n.silence.lasts() -> false && n.silence.lasts()",
		Caught: starved(invariant.SparedInOutage).From(6),
	},
	{
		Name:    "recoveries have no part of the requests",
		Package: controller, Func: "(*Controller) kinds",
		Rule: `[]timedqueue.Kind[Action]{d, {Name: "recoveries", Reserved: p, Source: s}, e, o} ->
			[]timedqueue.Kind[Action]{d, {Name: "recoveries", Source: s}, e, o}`,
		Caught: starved(invariant.Recovered).From(12),
	},
	{
		Name:    "evictions have no part of the requests",
		Package: controller, Func: "(*Controller) kinds",
		Rule: `[]timedqueue.Kind[Action]{d, r, {Name: "evictions", Reserved: p, Cost: c, Source: s}, o} ->
			[]timedqueue.Kind[Action]{d, r, {Name: "evictions", Cost: c, Source: s}, o}`,
		Caught: starved(invariant.InTime),
	},
	{
		Name:    "other writes have no part of the requests",
		Package: controller, Func: "(*Controller) kinds",
		Rule: `[]timedqueue.Kind[Action]{d, r, e, {Name: "other writes", Reserved: p, Source: s}} ->
			[]timedqueue.Kind[Action]{d, r, e, {Name: "other writes", Source: s}}`,
		Caught: starved(invariant.TaintsFollow),
	},
	{
		Name:    "leases are read one by one, however many",
		Package: controller, Func: "(*Controller) readLeases",
		Rule:   "mostSingleReads -> 1 << 20",
		Caught: starved(invariant.NoIdleToken).From(20),
	},
	{
		Name:    "nodes are tainted as soon as the caches are filled",
		Package: controller, Func: "(*Controller) MarkSynced",
		Rule:   "c.zones.Stabilize(t) ->",
		Caught: hostile(invariant.SparedInOutage),
	},
	{
		Name:    "nodes are tainted as soon as another replica acts",
		Package: controller, Func: "(*Controller) Lead",
		Rule:   "c.zones.Stabilize(t) -> c.zones.Next(t)",
		Caught: ordinary(invariant.SparedInOutage),
	},
	{
		Name:    "a node that could not be declared is not declared later",
		Package: controller, Func: "(*Controller) declared",
		Rule:   "r.Err != nil -> false",
		Caught: ordinary(invariant.DeclaredInTime).From(310),
	},
}

// ofPolicies are faults that show when a policy pauses the cluster.
var ofPolicies = []mutant.Mutation{
	{
		Name:    "a pause holds no evictions",
		Package: controller, Func: "(*Controller) evaluateZones",
		Rule:   "c.setHold(t, holdPaused) -> c.setHold(t, holdNone)",
		Caught: pausing(invariant.NeverEarly),
	},
	{
		Name:    "what a pause has held leaves as soon as it ends",
		Package: controller, Func: "(*Controller) evaluateZones",
		Rule: `c.hold == holdPaused && e.Phase != zone.PhaseActive ->
			c.hold == holdPaused && e.Phase == zone.PhasePaused`,
		Caught: pausing(invariant.NeverEarly),
	},
	{
		Name:    "nodes are acted against as soon as a pause ends",
		Package: "zone", Func: "(*Tracker) nextPhase",
		Rule:   "t.phase == PhaseSuspended || t.phase == PhasePaused -> t.phase == PhaseSuspended",
		Caught: pausing(invariant.SparedInOutage),
	},
	{
		Name:    "a pause ends with as few ready nodes as it has begun with",
		Package: "zone", Func: "(*Tracker) policyPhase",
		Rule:   "t.stopped -> false",
		Caught: pausing(invariant.SparedInOutage),
	},
}

// ofHalts are faults in how an operator stops the controller.
var ofHalts = []mutant.Mutation{
	{
		Name:    "a halt holds no taints",
		Package: controller, Func: "(*Controller) mayRelease",
		Rule:   "!c.Halted() && c.hold == holdNone -> c.hold == holdNone",
		Caught: ordinary(invariant.Halted),
	},
	{
		Name:    "a halt holds nothing",
		Package: "eviction", Func: "(*Tracker) Halt",
		Rule:   "t.halted = true ->",
		Caught: ordinary(invariant.Halted),
	},
	{
		Name:    "a halt has no end",
		Package: "eviction", Func: "(*Tracker) Resume",
		Rule:   "t.halted = false ->",
		Caught: ordinary(invariant.InTime),
	},
}

// ofClocks are faults that show when a machine was suspended or a watch was
// interrupted.
var ofClocks = []mutant.Mutation{
	{
		Name:    "a taint that was written while the watch was interrupted counts from its sight",
		Package: "eviction", Func: "(*watch) current",
		Rule:   "w.heard.IsZero() -> true",
		Caught: ordinary(invariant.InTime).From(720),
	},
	{
		Name:    "a machine that was suspended evicts so much later",
		Package: "eviction", Func: "(*clock) confirm",
		Rule:   "(s - c.shift).Abs() <= parted -> s.Abs() >= 0",
		Caught: ordinary(invariant.InTime).From(500),
	},
	{
		Name:    "the timeout of a node does not follow the clock that counts",
		Package: "eviction", Func: "(*Tracker) StartOf",
		Rule: "t.clock.shift -> 0",
		// It takes a suspension in a long timeout, and one replica.
		Caught: ordinary(invariant.NoIdleToken).From(3320),
	},
	{
		Name:    "a machine that was suspended writes the time of day without that",
		Package: "timedqueue", Func: "(*Throttle) advance",
		Rule:   "a >= t.now && a < maxNow -> a > maxNow",
		Caught: ordinary(invariant.TimesTold),
	},
}
