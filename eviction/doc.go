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
//   - An [Action] does the work. [Delete] marks the pod and deletes it, [Evict]
//     asks the Eviction API, which heeds PodDisruptionBudgets, [Escalate] does one
//     for a while and the other then, [DryRun] only tells. Any other function will do.
//   - [Scheduler] is what is in a Tracker without nodes, pods and taints: deadlines
//     of keys, for what is evicted and is no pod.
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
// A PodDisruptionBudget's refusal is waiting and not failing. [CauseOf] says what
// an error means.
//
// A pod that was marked as about to be evicted and then need not leave is
// unmarked, also when it was marked before a restart. The disruption controller
// of kube-controller-manager does the same for any pod, two minutes later.
//
// # How fast
//
// By default a pod leaves as soon as it is due and a worker is free, like that of
// kube-controller-manager but for the workers. A [Budget] limits how many leave a
// second: of all, of a node, of a namespace, of whatever a function names. A pod leaves
// when each budget has a token for it, and does not hold up others that need not wait.
// [Tracker.SetLimit] changes the rate of one share while it runs. Zero holds its pods,
// and what has become due until that is lifted leaves at the rate and not at once: that
// is a zone's gate. [Tracker.Hold] is the other kind, which holds taints and not pods.
//
// # Whole nodes
//
// [Tracker.EvictNode] empties a node whatever its pods tolerate, as was done before
// there were taints; only pods of DaemonSets stay. It also evicts what comes later, and
// lasts until [Tracker.SpareNode].
//
// # Seeing it
//
// [Tracker.Pending] tells who leaves when and why, how often it was tried, and which
// budget holds it up; [Tracker.Overdue] how many should be gone, and since when. How late
// an eviction is, as a time.Duration, is Work.At less Work.Verdict.Due.
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
