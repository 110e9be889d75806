// Package nodehealth answers one question for those that watch a node: is it
// alive? Package heartbeat is the node's half.
//
// # The pieces
//
//   - [Monitor] tells which keys have been silent for longer than their grace
//     period, and which of them are heard again. A key is whatever sends
//     heartbeats: a device, a cluster, an agent. It is a core: time is an
//     argument.
//   - [NodeMonitor] is a Monitor of nodes, fed with nodes and leases.
//   - [Detector] decides how long a key may be silent. The default is a fixed
//     grace period; an example shows the phi accrual detector.
//   - [Heard] is when each source of a node was heard: its lease, its status, a
//     probe of the caller's. Config.Combine combines them.
//   - [UnknownPatch] records that a node is silent: its conditions become
//     Unknown, unless it has reported after all.
//   - [PodNotReadyPatch] records that a pod on such a node is not ready.
//
// A timedqueue.Dispatcher connects them:
//
//	Dispatcher ──Start──► Monitor ──Task──► action ──Result──► Finish
//	                         ▲
//	     heartbeats ──Observe, Heartbeat, Forget
//
// # What it promises
//
// Only the time at which a heartbeat is observed counts, never a time that its
// sender wrote. A heartbeat costs no call and no allocation, and a quiet
// cluster costs its heartbeats only. Silence is found when the grace period
// ends.
//
// The monitor hands out a key once when it falls silent, and once when it
// returns. A failed task is retried, after a growing wait. A record of a
// silence that another client sets back is written again, after a growing wait
// too. [Monitor.Silent] tells at any time whether a key counts as silent.
//
// With Config.SightTimeout silence counts only while it could have been heard.
// The caller proves that with [Monitor.Sighted], for example whenever the API
// server answers. Time without a proof is blind and counts in no grace period:
// after an outage of the API server, or a suspension of the machine, no living
// key is found silent for it.
//
// A node is its UID. What is known of a node ends when the watch says that it
// is deleted, and not with an answer 404.
//
// # The caller's duties, observing
//
//   - Observe every node and every lease of kube-node-lease whenever they
//     change, and forget them when they are deleted.
//   - Call MarkSynced once the first lists are observed.
//   - With Config.SightTimeout call Sighted more often than that.
//   - For a task of [StateSilent] send UnknownPatch for the newest version of
//     the node, and tell Finish its result. A refused patch is
//     [OutcomeRetry]: the node has just reported, and Observe will see that.
//   - For a task of [StateAlive] record that, or report [OutcomeDone]. The
//     kubelet itself writes that a node is Ready.
//
// A node that is found Unknown at the start stays so until it is heard. Nothing
// is known of its time before.
//
// # Differences from kube-controller-manager
//
// Compared with v1.37.1. Reasons and messages of conditions are the same.
//
//   - A heartbeat is a renewTime or holder that differs, or a Ready condition
//     whose heartbeat time does. There the renewTime must be later, so a node
//     whose clock was set back is declared.
//   - Each node has its whole grace period after a restart. There a node that
//     has never reported, and has no lease, is judged from its
//     creationTimestamp. Here only time counts in which a heartbeat could have
//     been observed.
//   - With Config.SightTimeout an outage of the API server counts in no grace
//     period. There nodes are declared when it ends, unless they beat first.
//   - Silence is found when the grace period ends. There it is found in the
//     next pass over all nodes.
//   - A node is its UID, and is forgotten when it is deleted. There a node that
//     is recreated within a pass inherits the health of its predecessor.
//   - A declaration that another client sets back without a heartbeat is
//     written again after a growing wait, not in the next pass.
//   - The conditions are patched, guarded by the Ready condition. There the
//     whole status is updated.
//
// # Layers
//
// A file uses only declarations of its own line and of the lines below.
//
//	node
//	monitor  conditions
//	task
//	config  record  sight
//	errors
package nodehealth
