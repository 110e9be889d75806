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
// # Gates
//
// A node is silent only when its machine is dead. The caller's gate, the
// function Node.Alive, decides that. It is called right before each beat, on
// workers of its own:
//
//	due beat ──► gate ──nil────────────► renew the lease, check the status
//	              │ ├───error──────────► silent; called again after a backoff
//	              │ └───no answer──────► silent, in quarantine
//	              └─────no free worker─► the former answer, up to GateMaxAge
//
// No gate delays the beats of another node. One that does not answer within
// GateTimeout is in quarantine. It is not called again before it has returned,
// and then with backoff, on the workers of the quarantine. So gates that hang
// cannot occupy the workers of those that answer, and the goroutines that hang
// are bounded. [Sender.Quarantined] counts the nodes.
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
//   - Call Changed when a status changes or a gate opens.
//   - Send the heartbeats of a node from one process only.
package heartbeat
