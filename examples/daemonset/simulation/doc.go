// Package simulation is a cluster with daemon sets in virtual time. The core
// and the edge of the DaemonSet controller run in it on one goroutine. The same
// [Scenario] gives the same history each time.
//
//	history, err := simulation.Run(scenario)
//	...
//	violations := invariant.Check(history, history.End)
//
// The cluster is a world of examples/outage/model, whose scheduler binds pods
// and whose garbage collector deletes them. The controller runs in it as in
// examples/outage/daemonsets. This package adds
//
//   - kubelets that start, fail and stop pods after random times, or do nothing
//     for a time;
//   - users that change sets, nodes and pods as the steps of the scenario say;
//   - what goes wrong, as steps too.
//
// # What goes wrong
//
// A call of the controller takes time. It may fail, be refused, or arrive and
// lose its answer. A client gives it up after 30 seconds, and it may arrive
// later. A watch of each kind shows changes late, or misses them and lists
// again. A process may end at any time, with calls under way. The next one
// begins with caches of different ages.
//
// # What is left out
//
// There is one namespace, and no second controller of daemon sets. Pods need no
// resources. Templates have no node affinity and no host ports. Nodes send no
// heartbeats.
package simulation
