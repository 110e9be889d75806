//go:build !race

package mutations

import "github.com/kubelife/lifecycle/examples/outage/invariant"

// ofHalts are faults in how an operator stops the controller.
var ofHalts = []mutation{
	{
		name:     "a halt holds no taints",
		file:     "examples/nodelifecycle/controller/halt.go",
		old:      `return !c.Halted() && c.hold == holdNone`,
		with:     `return c.hold == holdNone`,
		caughtBy: invariant.Halted,
	},
	{
		name: "a halt holds nothing",
		file: "eviction/halt.go",
		old: `	t.halted = true
`,
		with:     ``,
		caughtBy: invariant.Halted,
	},
	{
		name: "a halt has no end",
		file: "eviction/halt.go",
		old: `	t.halted = false
`,
		with:     ``,
		caughtBy: invariant.InTime,
	},
}
