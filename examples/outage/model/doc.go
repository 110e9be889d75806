// Package model is a cluster in virtual time: machines with kubelets, an API
// server with watches, owners that replace pods, a scheduler. It runs on one
// goroutine, from event to event, and the same seed gives the same run.
//
// It shares nothing with the library that is tried out in it, and imports none
// of it. So its truth can be used to judge the library. What the API server
// stores and answers are those of examples/simulation/apiserver, whose answers
// are compared with kube-apiserver's. What lies between that and controllers,
// latencies, errors and late watches, is examples/simulation/network.
//
// # The pieces
//
//   - [World] holds everything, and is a network: its Step lets the next thing
//     happen, its At plans one, its NewClient is for a controller's process.
//   - [Machine] is a node with its kubelet: it beats, reports, starts and stops
//     pods, as long as it reaches the API server. The [Kubelets] of a world are
//     the model's own, or others.
//   - [Workload] owns pods. The scheduler binds them to machines that are
//     ready. It may have a [DisruptionBudget], which the Eviction API heeds and
//     a delete does not. Its status is written by the model's disruption
//     controller.
//   - [Witness] is told everything, at the moment in which it happens.
//
// # Kubelets
//
// The model's own are a few rules. They are the default, because a million pods
// fit on one machine with them. The package examples/outage/kubelets runs those
// of examples/hollownode instead. A run then takes 10 to 25 times as much CPU,
// and 5 KB of memory more for each pod.
//
// Its test TestTheSameComesOutWithTheKubeletsOfHollownode holds the two
// together: what users see of each scenario that ships, and what it expects. In
// these the model's own differ from the kubelet, where no controller can tell:
//
//   - They admit every pod. A kubelet rejects some under memory pressure, and
//     those that do not tolerate a NoExecute taint.
//   - A pod that is deleted has no final phase before it is gone.
//   - A status that another client has overwritten is right after a second. A
//     kubelet looks each ten seconds.
//   - After the API server was away, a renewal is tried with the next interval.
//     A kubelet tries sooner.
//   - A status is reported each StatusInterval. A kubelet waits for half to one
//     and a half of it after a change.
//   - Containers outlive a deleted node until its pods are removed. A kubelet
//     of hollownode is gone with its machine.
//
// # What is left out
//
// Only what a controller of node lifecycles can see or cause is here. Kubelets,
// owners and the scheduler act on the newest state and their writes take no
// time; only clients have latencies, errors and old caches. What they write,
// and the leases of nodes, is stored as it is. There is one namespace. Pods
// need no resources, and one that was never ready is pending. A watch shows a
// deletion as one event.
package model
