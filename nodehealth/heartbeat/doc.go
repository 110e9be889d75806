// Package heartbeat keeps nodes alive: it renews the leases and reports the
// statuses of any number of nodes from one process, as a kubelet does for one.
//
// A virtual kubelet has one node, a test fleet thousands. A [Sender] keeps them
// in one heap and has a bounded number of workers.
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
