// Package nodehealth answers one question for those that watch a node: is it
// alive? Package heartbeat is the node's half.
//
// # The pieces
//
//   - [Monitor] tells which nodes have been silent for longer than their grace
//     period. It is a core: fed with nodes and leases, time as an argument.
//   - [UnknownPatch] writes down that a node is silent: its conditions become
//     Unknown, unless it has reported after all.
//   - [PodNotReadyPatch] says of a pod on such a node that it is not ready.
//
// # The caller's duties
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
package nodehealth
