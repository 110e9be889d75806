// Package controller connects an eviction.Tracker with a cluster.
//
//   - [Controller] is all of it: informers, clients, workers. A program is a
//     [Config] and a call of Run.
//   - [Informer] only observes the cluster for a tracker, for a caller that has
//     a timedqueue.Dispatcher of its own.
//
// What goes where:
//
//	API server ──nodes, pods──► Informer ──Observe, Forget──► Tracker
//	    ▲                                                        │
//	    └───────── Action ◄───────── Dispatcher ◄──────Task──────┘
//
// # What it promises
//
// Everything that package eviction asks of a caller under "The caller's duties"
// is done. Pods leave when nodes and pods have been listed, and no earlier. Run
// returns when what was under way has ended.
//
// By default pods are evicted through the Eviction API, which respects
// PodDisruptionBudgets, with one worker for each of 16 pods at a time. Each
// request is sent at the rate of Config.Cluster: five a second where QPS is
// zero, as anywhere in client-go.
//
// With Config.Client and testing/synctest, a test runs a whole controller
// through hours in a moment; TestTenHours in example_hours_test.go is such a
// test.
//
// # The caller's duties
//
//   - Run one replica, or call Run in a leader election. A Controller that
//     begins to lead then lists the cluster first. A standby that is to take
//     over at once needs an Informer that runs before, as
//     examples/tainteviction has it.
//   - Give the user of Config.Cluster the rights: get, list and watch nodes and
//     pods, create pods/eviction, and patch pods/status. [Config.Action] may
//     need others: delete pods.
//   - The decisions are those of the tracker. With the defaults of
//     eviction.Config all NoExecute taints evict; kube-controller-manager
//     evicts for them too unless it runs with
//     --controllers=*,-taint-eviction-controller.
package controller
