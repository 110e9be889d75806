//go:build !race

package mutations

import "github.com/kubelife/lifecycle/examples/outage/invariant"

// ofClocks are faults that show when a machine was suspended or a watch was
// interrupted.
var ofClocks = []mutation{
	{
		name: "a taint that was written while the watch was interrupted counts from its sight",
		file: "eviction/clock.go",
		old: `func (w *watch) current(now, day time.Time) time.Time {
	switch {
`,
		with: `func (w *watch) current(now, day time.Time) time.Time {
	switch {
	case true:
		return day
`,
		caughtBy: invariant.InTime,
		first:    720,
	},
	{
		name:     "a machine that was suspended evicts so much later",
		file:     "eviction/clock.go",
		old:      `	if (shift - c.shift).Abs() <= parted {`,
		with:     `	if shift.Abs() >= 0 {`,
		caughtBy: invariant.InTime,
		first:    500,
	},
	{
		name:     "the timeout of a node does not follow the clock that counts",
		file:     "eviction/sight.go",
		old:      `return o.origin.start(t.clock.shift)`,
		with:     `return o.origin.start(0)`,
		caughtBy: invariant.NoIdleToken,
		first:    3320, // it takes a suspension in a long timeout, and one replica
	},
	{
		name:     "a machine that was suspended writes the time of day without that",
		file:     "timedqueue/throttle.go",
		old:      `	if at := now.Sub(t.epoch); at >= t.now && at < maxNow {`,
		with:     `	if at := now.Sub(t.epoch); at > maxNow {`,
		caughtBy: invariant.TimesTold,
	},
}
