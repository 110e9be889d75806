// Package heartbeat sends the heartbeats of any number of nodes from one
// process. It renews their leases and reports their statuses, as a kubelet does
// for one node.
//
// A virtual kubelet has one node, a test fleet thousands. A [Sender] keeps them
// in heaps and has a bounded number of workers. A renewal is one call, a check
// of an unchanged status none, a report one guarded patch. The intervals are
// the kubelet's. A lease of 40 s is renewed every 10 s with 4 % jitter. A
// status is checked every 10 s, and reported on change or else every 5 min.
//
// # Silence
//
// A node is silent only when its machine is dead, and the caller decides that:
//
//	Add ──► beating ──Pause, or the time of AliveFor is over──► silent
//	           ▲                                                  │
//	           └─────────────── Resume or AliveFor ───────────────┘
//	                  lease and status are sent at once
//
// A caller that wants a node silent calls [Sender.Pause]. A caller that checks
// a node calls [Sender.AliveFor] after each check that succeeds. When the check
// fails or hangs, these calls stop and the node falls silent. The Sender calls
// no check itself, so none can delay another node.
//
// A working machine with a broken runtime is alive. Its Status returns
// Ready=False.
//
// # The caller's duties
//
//   - Create the Node object, then Add the node with its UID. Remove it when it
//     is deleted.
//   - Pass clients that do not throttle, and give the leases a connection of
//     their own.
//   - Pass a Cache. Without one, a status that another client has overwritten
//     stays so until the next report.
//   - Call Changed when a status changes.
//   - Send the heartbeats of a node from one process only.
package heartbeat
