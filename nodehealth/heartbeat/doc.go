// Package heartbeat keeps nodes alive: it renews the leases and reports the
// statuses of any number of nodes from one process, as a kubelet does for one.
//
// A virtual kubelet has one node, a test fleet thousands. A [Sender] keeps them
// in heaps and has a bounded number of workers. A renewal is one call, a look
// at an unchanged status none, a report one guarded patch. The numbers are the
// kubelet's: a lease of 40 s renewed every 10 s with 4 % jitter, a look every
// 10 s, and a report on change or else every 5 min, spread.
//
// # Gates
//
// A node is silent only when its machine is dead. The caller's gate, the
// function Node.Alive, decides that. It is called right before each beat, on
// workers of its own:
//
//	due beat ──► gate ──nil────────────► renew the lease, look at the status
//	              │ ├───error──────────► silent; called again after a backoff
//	              │ └───no answer──────► silent, in quarantine
//	              └─────no free worker─► the former answer, up to GateMaxAge
//
// No gate delays the beats of another node. One that does not answer within
// GateTimeout is in quarantine. It is not called again before it has returned,
// and then after a growing pause, on the workers of the quarantine. So gates
// that hang cannot occupy the workers of those that answer, and the goroutines
// that hang are bounded. [Sender.Quarantined] counts the nodes.
//
// A machine that works but has a broken runtime is alive. Its Status returns
// Ready=False.
//
// # The caller's duties
//
//   - Create the Node object, then Add the node with its UID. Remove it when it
//     goes.
//   - Give clients that do not throttle, and the leases a connection of their
//     own.
//   - Give a Cache. Without one, a status that another client has overwritten
//     stays so until the next report.
//   - Call Changed when a status changes or a gate opens.
//   - Let only one process speak for a node.
//
// # Layers
//
// A file uses only declarations of its own line and of the lines below.
//
//	sender
//	act  schedule
//	gates  task
//	record  lease  retry
//	node
//	config
//	status  clients  metrics
//	errors
package heartbeat
