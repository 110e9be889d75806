// Package observer tells a scheduler, or any other program that wants no more
// than that, which nodes are silent and how disrupted each zone is. It writes
// nothing.
//
//	factory := informers.NewSharedInformerFactory(client, 0)
//	o, err := observer.NewObserver(observer.Config{Factory: factory})
//	factory.Start(ctx.Done())
//	go o.Run(ctx)
//	avoid := o.View().Silent("node-1")
//
// examples/e2e/avoidsilent asks it in a Filter of kube-scheduler.
//
// # The pieces
//
//   - [Observer] is all of it, on the caller's informers.
//   - [View] is what is known now. Any goroutine reads it, without a lock.
//   - [Tracker] decides, and keeps a View up to date. It is a core, for a caller
//     that has a timedqueue.Dispatcher, or a simulation, of its own.
//
// What goes where:
//
//	nodes, leases ──Observe, Forget──► Tracker ──────► View ──► any goroutine
//	                                    │   ▲
//	API server, OnChange ◄── Task ──────┘   └── Result
//
// # What it promises
//
// A node is silent when it was not heard for a grace period, by the clock of
// this process: 25 s by default, half of what kube-controller-manager waits
// before it declares the node. A node that is found Unknown at the start is
// silent. Both last until the node is heard.
//
// Silence counts only while heartbeats are heard, whichever node they are of.
// If none arrives for Health.SightTimeout, 12 s by default, the time from the
// last one to the next counts in no grace period. So an API server that is down
// makes no node silent. Nor does the death of the last living nodes: an observer
// that hears nothing at all does not know whether it is the nodes or itself.
//
// With [Config].Leases a node is silent only after a live read of its lease that
// shows no heartbeat. Without it the informers are believed. The difference is a
// watch of leases that has stalled, while the watch of nodes still brings
// heartbeats: then all nodes would count as silent until it goes on.
//
// A zone counts its silent nodes as not ready, before their conditions say so.
// A node whose silence is not confirmed yet, or that was not heard since the
// last blindness, is unconfirmed; see package zone.
//
// Each answer of a View is true by itself, and costs no allocation and no lock.
// To fall silent costs the same in a cluster of any size. A quiet cluster costs
// its heartbeats, which allocate nothing in a Tracker.
//
// # Before the caches are filled
//
// [View.Synced] is false until all nodes and leases that existed were observed.
// Until then each zone is in the state Initial, and the phase is Recovering. A
// node that was not observed yet is not silent.
//
// # The caller's duties
//
//   - Start the factory after NewObserver, and call Run once.
//   - Give the user of its client the rights to list and watch nodes, and leases
//     of the namespace kube-node-lease.
//   - Believe no silence in zone.PhaseSuspended: every zone is fully disrupted
//     then, so the observer is more likely at fault than all nodes.
package observer
