// Package simulation is a cluster of a few nodes in virtual time. The core and
// the edge of the hollow nodes run in it on one goroutine. The same [Scenario]
// gives the same history each time.
//
//	history, err := simulation.Run(scenario)
//	...
//	violations := invariant.Check(history)
//
// The cluster is that of examples/simulation/cluster: an API server whose
// answers are compared with kube-apiserver's, and a network in which calls take
// time and watches are late. The kubelets are a process in it: package life in
// a process of examples/simulation/program. Besides them these clients act,
// always on the newest state:
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
// lists again, maybe what there was some seconds ago. The process of the
// kubelets may end at any time, with calls under way, of which some arrive. Its
// containers go on, or end with it and are restored from what the API server
// shows.
//
// # What is left out
//
// Pods come bound to their nodes. A call of a heartbeat takes no time, but it
// can fail and lose its answer. In a [Scenario] the nodes are there before
// their kubelets. A call that was given up does not arrive later, as its
// connection is closed. Nor does one of a process that has ended, once the next
// one runs.
//
// # A cluster to play with
//
// A [World] is for a caller that decides while it plays what happens, for
// example a demonstration. There nodes register. Nothing goes wrong but what
// the caller does.
package simulation
