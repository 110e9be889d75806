// Package failover moves bindings away from clusters that fall silent or are not
// ready, in a controller-runtime manager. It shows how the cores of the lifecycle
// library work on objects that are no nodes and no pods.
//
//   - Core decides, from objects and times: which cluster is silent, which has
//     which taint, which binding moves when and to which cluster. It composes a
//     nodehealth.Monitor, a zone.Tracker of regions, a timedqueue.Queue of
//     taints and an eviction.Tracker.
//   - Controller acts: its reconcilers observe, and it patches what the core
//     hands out.
//
// # How other objects get in
//
// A Monitor and a zone Tracker are generic over their keys, here the names of
// clusters. The taints of a Cluster are corev1.Taints, on which package taints
// works. To an eviction.Tracker each cluster of a binding is a Subject, and each
// cluster a place with taints. So it has all that a pod has: a deadline that
// survives a restart, budgets, retries, and clocks that part. What the eviction
// does is up to the caller. Here it moves the binding from that cluster to
// another one, from one at a time. On the others it stays, and also on this one
// while there is no other to go to.
//
// A cluster that is not ready has another taint than a silent one. One that
// flaps between the two was never well, so both are one lineage: the taint that
// replaces the other keeps its time, and bindings keep their deadlines.
//
// # Two ways to drive a core
//
// (a) The reconcilers only observe: they read the object from the cache and
// give it to the core. A manager.Runnable runs a timedqueue.Dispatcher, which
// sleeps until the core has a job and performs it.
//
// (b) The reconciler of an object also acts on it. It observes the object, acts
// if the core says that it is due, and else returns RequeueAfter with the time
// that is left. This fits a decision about one object at a time. The example
// RequeueAfter does it with eviction.Decide alone.
//
// This package does (a), for three reasons. A core with budgets chooses among
// all objects, so its next job has no time of one key. A RequeueAfter cannot be
// taken back, so each change of a taint wakes the bindings twice. And
// reconcilers that act must lead. Those of this package run in each replica and
// keep the core of a standby up to date; only the dispatcher needs to lead.
//
// # What guards a write
//
// Each patch carries the resourceVersion of the object that the core decided
// on. When anything has changed since, the API server refuses it with 409, and
// the core decides again from what the cache shows. A heartbeat that the cache
// lacks is such a change, so a living cluster is never declared silent. A
// resourceVersion is never used twice, so another object of the same name is
// refused too.
//
// taints.Patch tests the list of taints instead, because a Node has many
// writers. A Cluster has few. The API server also stores a custom resource as
// it was written, so the JSON of its list may differ from ours.
//
// # What operators see and do
//
// Events tell of each cluster that falls silent and of each binding that moves.
// Metrics are counted next to controller-runtime's own. An annotation of the
// leader's Lease halts all moves and new taints, see Stop. A third reconciler
// follows it, also in replicas that stand by.
//
// # Not here
//
// The taints of the old cluster are not read again before a binding moves from
// it. A taint that was removed a moment ago may still move one. Bindings of a
// deleted cluster stay, as its taints are gone. No page lists what waits, and no
// shadow compares with another controller. An Event about a patch whose answer
// was lost is not recorded.
package failover
