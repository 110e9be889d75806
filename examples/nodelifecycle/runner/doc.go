// Package runner is a whole node lifecycle and taint eviction controller to
// import: the controller of package controller, with informers, workers and
// clients.
//
//	r, err := runner.NewRunner(runner.Config{Cluster: cluster})
//	...
//	err = r.Run(ctx)
//
// It does the work of kube-controller-manager's node-lifecycle-controller and
// taint-eviction-controller, which have to be switched off there. The program
// nodelifecycle is flags, leader election, metrics and pages on top of it.
//
// # Forks
//
// A controller that treats some nodes or pods otherwise needs no copy of this
// one. It is a Config, whose functions are asked about each:
//
//	which zone a node counts for                  Controller.ZoneOf
//	how long it may be silent                     Controller.Health.GracePeriodOf
//	which taints it has for its conditions        Controller.NoSchedule
//	whether its pods are marked not ready         Controller.MarksPods
//	how long its pods stay once it is not ready   Controller.PodEvictionTimeoutOf
//	what its turn in the zone does                Controller.EvictionModeOf
//	which pods leave, and what they tolerate      Controller.Eviction
//	how they leave                                Evict
//	which annotations these functions see         Keep
//
// They run inside turns of the controller, so they must be fast, depend on
// their arguments alone and change nothing. A change of an object that changes
// an answer acts as soon as the watch shows it. The Example of an edge cluster
// has several of them.
//
// # Duties of the caller
//
//   - Run one at a time, whatever elects it: [Runner.Observe] may run in each
//     replica and [Runner.Act] in the one that leads; see [Runner.Idle]. Without
//     an election Run does both.
//   - Stop the two controllers of kube-controller-manager.
//   - Grant list and watch of nodes, pods and leases, get of leases in
//     kube-node-lease, get and patch of nodes and pods and of their status,
//     delete of pods and create of evictions, as manifest.yaml of the program
//     does. Run also needs create and patch of the Lease that Config.Probe names.
//   - Log with the logger of the context: the controller logs nothing itself.
//     Record and Finished tell what it does.
package runner
