// Package nodehealth reports whether nodes are alive, to a controller that
// observes them. Package heartbeat is the node's half. Package observer is ready
// to run, for a program that only asks.
//
// # The pieces
//
//   - [Monitor] finds the keys that have been silent for longer than their
//     grace period, and those of them that are heard again. A key is whatever
//     sends heartbeats: a device, a cluster, an agent. A Monitor is a core:
//     time is an argument.
//   - [NodeMonitor] is a Monitor of nodes, fed with nodes and leases.
//   - [Detector] decides how long a key may be silent. The default is a fixed
//     grace period; an example shows the phi accrual detector.
//   - [Heard] is when each source of a node was heard: its lease, its status, a
//     probe of the caller's. Config.Combine combines them.
//   - [UnknownPatch] records that a node is silent: its conditions become
//     Unknown, unless it has reported since.
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
// returns. A failed task is retried with backoff. If another client sets back
// the record of a silence, it is written again, also with backoff.
// [Monitor.Silent] reports at any time whether a key counts as silent.
//
// With Config.SightTimeout silence counts only while heartbeats could be heard.
// A heartbeat of any key proves that, and so does an answered write of the
// caller, which [Monitor.Answered] tells. Time without a proof is blind and
// counts in no grace period. So no living key is found silent because of an
// outage of the API server, a store that cannot be written, or a suspension of
// the machine; an API server that is slow and answers delays nothing. What was
// alive before may be dead after it, which [Monitor.HeardSinceBlindness] tells.
//
// A node is identified by its UID. A node is forgotten when the watch reports
// its deletion. An answer 404 alone forgets nothing.
//
// # The caller's duties, observing
//
//   - Observe every node and every lease of kube-node-lease whenever they
//     change, and forget them when they are deleted.
//   - Call MarkSynced once the first lists are observed.
//   - With Config.SightTimeout write something to the API server more often than
//     that, for example a lease, and pass the result to Answered or Unanswered.
//   - For a task of [StateSilent] send UnknownPatch for the newest version of
//     the node, and pass the result to Finish. A refused patch is
//     [OutcomeFailed]: the node has changed. Read it before the next attempt,
//     because the watch of nodes may deliver nothing.
//   - For a task of [StateAlive] record that, or report [OutcomeDone]. The
//     kubelet itself writes that a node is Ready.
//
// A node that is found Unknown at the start stays so until it is heard.
//
// # Differences from kube-controller-manager
//
// Compared with v1.37.1. Reasons and messages of conditions are the same.
//
//   - A heartbeat is a change of renewTime or holder, or of the Ready
//     condition's heartbeat time. There the renewTime must be later, so a node
//     whose clock was set back is declared.
//   - Each node has its whole grace period after a restart. There the grace
//     period of a node that has never reported, and has no lease, begins at its
//     creationTimestamp, as here with Config.StartupFromCreation.
//   - With Config.SightTimeout an outage of the API server counts in no grace
//     period. There nodes are declared when it ends, unless they report first.
//   - Silence is found when the grace period ends. There it is found in the
//     next pass over all nodes.
//   - A recreated node is a new one. There a node that is recreated within a
//     pass inherits the health of its predecessor.
//   - A declaration that another client sets back without a heartbeat is
//     written again after a growing wait, not in the next pass.
//   - The conditions are patched, guarded by the Ready condition. There the
//     whole status is updated.
package nodehealth
