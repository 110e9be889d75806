//go:build !race

package mutations

import "github.com/kubelife/lifecycle/examples/outage/invariant"

// ofMassFailure are faults that show when many nodes fail at once, when the API
// server cannot be heard, or when something lies.
var ofMassFailure = []mutation{
	{
		name:     "a zone counts silent nodes only when that is written",
		file:     "examples/nodelifecycle/controller/zones.go",
		old:      `case n.silence.lasts():`,
		with:     `case false && n.silence.lasts():`,
		caughtBy: invariant.SparedInOutage,
		in:       starved,
		first:    6,
	},
	{
		name:     "recoveries have no part of the requests",
		file:     "examples/nodelifecycle/controller/controller.go",
		old:      `Name: "recoveries", Reserved: 0.25,`,
		with:     `Name: "recoveries",`,
		caughtBy: invariant.Recovered,
		in:       starved,
		first:    12,
	},
	{
		name:     "evictions have no part of the requests",
		file:     "examples/nodelifecycle/controller/controller.go",
		old:      `Name: "evictions", Reserved: 0.25, Cost`,
		with:     `Name: "evictions", Cost`,
		caughtBy: invariant.InTime,
		in:       starved,
	},
	{
		name:     "other writes have no part of the requests",
		file:     "examples/nodelifecycle/controller/controller.go",
		old:      `Name: "other writes", Reserved: 0.25,`,
		with:     `Name: "other writes",`,
		caughtBy: invariant.TaintsFollow,
		in:       starved,
	},
	{
		name: "leases are read one by one, however many",
		file: "examples/nodelifecycle/controller/confirm.go",
		old: `		if len(c.suspects) > mostSingleReads {
			return`,
		with: `		if len(c.suspects) > 1<<20 {
			return`,
		caughtBy: invariant.NoIdleToken,
		in:       starved,
		first:    20,
	},
	{
		name: "nodes are tainted as soon as the caches are filled",
		file: "examples/nodelifecycle/controller/controller.go",
		old: `	c.evictions.MarkSynced()
	c.zones.Stabilize(now)
`,
		with: `	c.evictions.MarkSynced()
`,
		caughtBy: invariant.SparedInOutage,
		in:       hostile,
	},
	{
		name: "nodes are tainted as soon as another replica acts",
		file: "examples/nodelifecycle/controller/controller.go",
		old: `func (c *Controller) Lead(now time.Time) {
	c.zones.Stabilize(now)
`,
		with: `func (c *Controller) Lead(now time.Time) {
	c.zones.Next(now)
`,
		caughtBy: invariant.SparedInOutage,
	},
	{
		name: "a node that could not be declared is not declared later",
		file: "examples/nodelifecycle/controller/finish.go",
		old: `	case result.Err != nil:
		c.enterSilence(n, confirmed)
`,
		with:     ``,
		caughtBy: invariant.DeclaredInTime,
		first:    310,
	},
}
