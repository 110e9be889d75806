//go:build !race

package mutations

import "github.com/kubelife/lifecycle/examples/outage/invariant"

// ofPolicies are faults that show when a policy pauses the cluster.
var ofPolicies = []mutation{
	{
		name: "a pause holds no evictions",
		file: "examples/nodelifecycle/controller/zones.go",
		old: `		c.setHold(now, holdPaused)
`,
		with: `		c.setHold(now, holdNone)
`,
		caughtBy: invariant.NeverEarly,
		in:       pausing,
	},
	{
		name:     "what a pause has held leaves as soon as it ends",
		file:     "examples/nodelifecycle/controller/zones.go",
		old:      `	case c.hold == holdPaused && evaluation.Phase != zone.PhaseActive:`,
		with:     `	case c.hold == holdPaused && evaluation.Phase == zone.PhasePaused:`,
		caughtBy: invariant.NeverEarly,
		in:       pausing,
	},
	{
		name:     "nodes are acted against as soon as a pause ends",
		file:     "zone/evaluate.go",
		old:      `	if t.phase == PhaseSuspended || t.phase == PhasePaused {`,
		with:     `	if t.phase == PhaseSuspended {`,
		caughtBy: invariant.SparedInOutage,
		in:       pausing,
	},
	{
		name:     "a pause ends with as few ready nodes as it has begun with",
		file:     "zone/evaluate.go",
		old:      `	c.Stopped = t.stopped`,
		with:     `	c.Stopped = false`,
		caughtBy: invariant.SparedInOutage,
		in:       pausing,
	},
}
