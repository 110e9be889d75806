// Package eviction decides when pods must leave their nodes, and evicts each of
// them exactly once.
//
// # The pieces
//
//   - [Decide] is the rule. From the NoExecute taints of a node and the
//     tolerations of a pod it makes a [Decision]: a time and its reason.
//     [StartTime] returns the time from which a taint, or a pod's stay on its
//     node, counts.
//   - [Tracker] applies the rule to a cluster. It observes nodes and pods, and
//     hands out a [Task] for each pod when its time has come. It has no clock
//     and no goroutine; a million pending pods are one heap.
//   - An [Action] does a task. [Deleter] sets a condition on the pod and
//     deletes it. [Evictor] uses the Eviction API, which respects
//     PodDisruptionBudgets. [EvictThenDelete] goes from one action to another
//     after a time. [DryRun] only reports. Any other function works too.
//   - A [Budget] limits how many pods leave a second or at a time: of all, of a
//     node, of a namespace, or of any other share. By default a pod leaves as
//     soon as it is due and a worker is free. A [Hold] stops evictions without a
//     rate, everywhere or on some nodes. What is held keeps its deadline.
//   - [Tracker.EvictPod] and [Tracker.EvictNode] make pods leave without a taint.
//   - [Tracker.Overdue] is what to alert on. [Tracker.Pending] and
//     [Tracker.PodsOn] list pods with their deadlines and reasons, and with what
//     delays them. [Tracker.RemainingOn] tells when a node is empty.
//
// Of a node a Tracker reads the name, the UID and the taints. Of a pod it reads
// the namespace, name, UID, node, tolerations, deletionTimestamp, owners, and
// the conditions PodScheduled and DisruptionTarget. The functions in Config read
// what they need. What is no pod and tolerates the taints of what is no node is
// a [Subject], and an Action of the caller evicts it. Config.Lineage says which
// of its taints count as one.
//
// A timedqueue.Dispatcher connects them:
//
//	Dispatcher ──Start──► Tracker ──Task──► Action ──Result──► Finish
//	                         ▲
//	    nodes and pods ──Observe, Forget
//
// # What it promises
//
// A pod that tolerates a taint for 60 seconds leaves 60 seconds after the taint
// began or the pod arrived, whichever is later. It never leaves earlier, also
// after a restart, because both times are read from the API objects. Every
// change of taints and tolerations moves the deadline, earlier or later. A node
// may flap between not-ready and unreachable, so these count as one taint.
//
// A pod is its UID. A pod that is recreated under the same name is another pod,
// and every write carries the UID of its pod. Pods without a UID are told apart
// by namespace and name. [Deleter] and [Evictor] fail for them, again and again,
// and [Tracker.PodsOn] lists them with that error.
//
// A failed eviction is retried, after a growing wait, until the pod is gone or
// need not leave any more. Each attempt is decided again from the newest view.
// When a PodDisruptionBudget refuses, the eviction waits; that is not a
// failure. No answer of a server makes a pod wait longer than the longest wait
// of Config.Backoff. [CauseOf] classifies an error.
//
// An eviction that was accepted has to be observed: with [Tracker.ForgetPod], or
// by an ObservePod that shows the pod terminating. If it is not for the longest
// wait of Config.Backoff, the pod is evicted again. A pod that was terminating
// and is not any more is back from a backup of the API server's store, and is
// decided as any other.
//
// # Clocks
//
// TimeAdded and the time of a binding are times of day, which other machines
// have written. [StartTime] compares them with the clock of this machine once,
// when they are first seen. All else follows the monotonic readings of now, so
// that setting the clock later moves no deadline. What a wrong clock can still
// do:
//
//   - What the tracker saw appear counts from ten seconds before that at the
//     earliest. So a clock that is behind makes a pod leave early by ten seconds
//     at most. An interruption of the watch makes it leave late by its length.
//   - What existed at the start is believed as it stands. There a wrong clock,
//     of the writer or of this machine, makes a pod leave early by its error.
//   - A writer whose clock is ahead makes it late by the delay of the watch.
//   - While the machine is suspended no time passes. A pod leaves late by as
//     much, unless the process is started again, as one is that loses an
//     election.
//
// # The caller's duties
//
//   - Observe every node and every pod with a node name, whenever they change,
//     and Forget them when they are deleted.
//   - Call MarkSynced once the first lists are observed.
//   - Never observe an older version of an object after a newer one. An object
//     that the caller has written is newer than the cache until the cache has
//     caught up.
//   - An informer may report a pod that was deleted and recreated under its
//     name as one update. Forget the old UID then.
//   - A Tracker is not safe for concurrent use; a Dispatcher locks it.
//
// # Differences from kube-controller-manager
//
// Compared with v1.37.1, whose issues are named by their numbers:
//
//   - A toleration counts from the taint's TimeAdded or the pod's arrival.
//     There it counts from when the controller saw the taint (#108268).
//   - It ends up to a second later than there, because TimeAdded is stored in
//     whole seconds. The taint may have come at the end of its second, and a
//     pod must not leave early, also after a restart.
//   - A change of tolerations or taints moves the deadline. There the first
//     deadline stays (#102993).
//   - A pod is its UID and not its name (#125332, #107543).
//   - A failed eviction is retried until it is moot. There it is dropped after
//     five attempts within 50 ms (#140639).
//   - Between the condition and the delete it is decided again.
//   - The message of the condition is the one from there, followed by the
//     taint.
//   - Pods that are due together wait for workers. There each has a goroutine.
//   - A pod that another client has marked with the condition DisruptionTarget
//     keeps that reason. There it is overwritten. If the tracker has not
//     observed the mark yet, reason and lastTransitionTime become ours: to know
//     better would cost a read for each eviction. There the time stays.
//   - A pod that is being deleted already is left alone, and gets no condition.
//     There it is marked, and deleted a second time.
//   - A toleration that runs ends when its node is deleted: the pod garbage
//     collector removes the pods of nodes that are gone. There it runs on, and
//     the pod is deleted when it ends.
//   - not-ready and unreachable count as one taint, so the pods of a node that
//     flaps still leave.
//   - A hold leaves taints and deadlines as they are. There node lifecycle
//     removes the taints while all zones are disrupted, and each toleration
//     starts again after that.
//   - With [Evictor] a PodDisruptionBudget can refuse an eviction, which then
//     waits. There pods are deleted, as by [Deleter].
//   - A canceled eviction is not reported. There each pod whose timer is canceled
//     gets an event "Cancelling deletion", which is a call a pod.
package eviction
