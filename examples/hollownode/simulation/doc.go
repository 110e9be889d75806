// Package simulation is a cluster of a few nodes in virtual time. The core and
// the edge of the hollow nodes run in it on one goroutine. The same [Scenario]
// gives the same history each time.
//
//	history, err := simulation.Run(scenario)
//	...
//	violations := invariant.Check(history)
//
// What the API server stores and answers is that of
// examples/simulation/apiserver, whose answers are compared with
// kube-apiserver's. Besides the kubelets these clients act on it, always on the
// newest state:
//
//   - users that create, change, delete and recreate pods, as the steps of the
//     scenario say. Each pod is drawn from a number;
//   - a client that shows pods of a silent node as not ready;
//   - a garbage collector that removes the pods of a lost node.
//
// # What goes wrong
//
// Nodes are silent, lose their runtime or network, reboot, are replaced, and
// their kubelets restart. Runtimes lose events. A call takes time. It may fail,
// or arrive and lose its answer. A watch shows changes late, or misses them and
// lists again. The process of the kubelets may end at any time, with calls
// under way. Its
// containers go on, or end with it and are restored from what the API server
// shows.
//
// # What is left out
//
// Pods come bound to their nodes. The nodes are there before their kubelets.
// Leases are not renewed, and the status of a node is written without a guard
// when it has changed. A call that was given up does not arrive later, as its
// connection is closed.
//
// # A cluster to play with
//
// A [World] is for a caller that decides while it plays what happens, for
// example a demonstration. There nodes register, and their heartbeats are those
// of package heartbeat, with leases. Nothing goes wrong but what the caller
// does.
package simulation
