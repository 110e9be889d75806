// Package eviction decides when pods must leave tainted nodes, and makes them
// leave exactly once.
//
// # The pieces
//
//   - [Decide] is the rule: from the NoExecute taints of a node and the
//     tolerations of a pod to a [Verdict], which is a time and its reason.
//     [Began] says since when a taint or a pod's stay counts.
//   - [Tracker] applies the rule to a cluster. It is fed with nodes and pods and
//     hands out each pod when its time has come, as [Work]. It has no clock and
//     no goroutine; a million pods that wait are one heap.
//   - [Delete] does the work: it marks the pod and deletes it. [DryRun] only
//     tells. Any other function can be an [Action].
//
// A timedqueue.Dispatcher puts them together:
//
//	Dispatcher ──Start──► Tracker ──Work──► Action ──Report──► Finish
//	                         ▲
//	    nodes and pods ──Observe, Forget
//
// # What it promises
//
// A pod that tolerates a taint for 60 seconds leaves 60 seconds after the taint
// began or the pod arrived, whichever is later: never earlier, also after a
// restart, because both times are read from the API objects. Every change of
// taints and tolerations moves the deadline, to earlier or later. not-ready and
// unreachable, between which a node may flap, count as one taint.
//
// A pod is its UID. One that was recreated under its name is another pod, and
// every write says which one it is for.
//
// An eviction that fails is tried again, after a growing wait, until the pod is
// gone or no longer has to leave; each try is decided anew from the newest view.
// A pod that was marked as about to be evicted and then need not leave is
// unmarked, also when it was marked before a restart. The disruption controller
// of kube-controller-manager does the same for any pod, two minutes later.
//
// # The caller's duties
//
// Observe every node and every pod with a node name, whenever they change, and
// Forget them when they are deleted. Say Synced once the first lists are in. Do
// not observe an older version of an object after a newer one; an object that
// was written by the caller is newer than what a cache says until the cache has
// caught up. An informer may report a pod that was deleted and created again under
// its name as one update: Forget the old UID then. Every object must have its UID.
// A Tracker is not safe for concurrent use: a Dispatcher is its lock.
package eviction
