// Package nodehealth answers one question, from both sides: is this node alive?
//
// # The observer's half
//
//   - [Monitor] tells which nodes have been silent for longer than their grace
//     period. It is a core: fed with nodes and leases, time as an argument.
//   - [UnknownPatch] writes down that a node is silent: its conditions become
//     Unknown, unless it has reported after all.
//   - [PodNotReadyPatch] says of a pod on such a node that it is not ready.
//
// # The node's half
//
//   - [Heartbeats] renews the leases and reports the statuses of any number of
//     nodes from one process, a virtual kubelet's one or a test fleet's thousands,
//     with one heap and a bounded number of workers. A renewal is one call, a look
//     at an unchanged status none, a report one guarded patch. The numbers are the
//     kubelet's: a lease of 40 s renewed every 10 s with 4 % jitter, a look every
//     10 s, a report on change and else every 5 min, spread.
//
// # The caller's duties, observing
//
// Observe every node and every lease of kube-node-lease whenever they change,
// and Forget them when they are deleted. Say Synced once the first lists are in.
// For each [Silent] node that Start hands out, send UnknownPatch for the newest
// version of the node, and tell Finish what came of it. A refused patch means
// that the node has just reported: the news will reach Observe, so report
// Undecided.
//
// A node that was found Unknown at the start stays so until it beats. Nothing is
// known of its time before.
//
// # The caller's duties, beating
//
// Create the Node, then Add it with its UID; Remove it when it goes. Give clients
// that do not throttle, and the leases a connection of their own. Give a Cache, or
// a status that somebody has overwritten stays so until the next report. Say
// Changed when a status changes or a gate opens. Let only one process speak for a
// node.
package nodehealth
