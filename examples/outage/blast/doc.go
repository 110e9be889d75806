// Package blast plays what a cluster can lose, one after the other. It counts
// what the controller does then and what workloads have left.
//
// [Losses] lists them: each zone, each pool, each rack, the control plane for
// some time, all nodes. [Variants] lists the settings to play each with: those
// of the scenario, a longer grace period, a lower rate, longer tolerations.
// [Play] plays all of that on all cores and returns a [Report], also when it is
// interrupted. Each run is a scenario of its own with the same seed, so that
// the report is the same each time.
//
// A loss is for good, except that the control plane comes back. It happens once
// the controller has filled caches and its stabilization window is over. Then
// the run goes on until nothing has been tainted or evicted for so long that
// nothing more can be. Until a pod on a tainted node has to leave, more can be.
// The run ends after [Config.Longest] at the latest.
package blast
