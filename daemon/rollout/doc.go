// Package rollout plans which pods of a DaemonSet to create and delete, one by
// one, and performs it. It assumes only that a set has one pod on each node that
// fits, so it serves sets of other kinds too. Where a pod belongs is the decision
// of package daemon. It plans as kube-controller-manager v1.37 does, except for
// the differences below.
//
// # Tasks
//
// A [Planner] observes nodes and pods as they change and hands out tasks. A
// task is a pod to create, to delete or to read. A change of one node costs one
// evaluation of that node, however many there are. A planner is a
// [timedqueue.Core], and an [Executor] performs its tasks, so that a
// [timedqueue.Dispatcher] drives both:
//
//	planner, err := rollout.NewPlanner(rollout.Config{
//		Owner: set.UID, Spec: rollout.SpecOf(set, revision),
//	}, time.Now())
//	...
//	dispatcher, err := timedqueue.NewDispatcher(planner,
//		func(ctx context.Context, task rollout.Task) rollout.Result {
//			return executor.Act(ctx, rollout.OwnerOf(set), task)
//		}, timedqueue.DispatcherConfig{Workers: 32})
//	...
//	dispatcher.Update(func() { planner.ObserveNode(time.Now(), node) })
//	// and ForgetNode, ObservePod, ForgetPod, SetSpec
//	...
//	err = dispatcher.Run(ctx)
//
// A loop of Start, Act and Finish does the same without goroutines.
// [Planner.Halt] holds deletions until [Planner.Resume].
//
// [Planner.Status] returns the counts for the status, and [Planner.Waits]
// returns why nothing happens on a node. The planners of many sets use one
// store of [Nodes]. A set then costs nothing on a node that it does not select.
// [Nodes.Changed] returns which planners have nodes to evaluate, and
// [Planner.Evaluate] bounds what all of them evaluate in one turn.
//
// # Revisions
//
// A ControllerRevision keeps each template, in the bytes that
// kube-controller-manager writes. Package revision finds or creates the current
// one, and [revision.Result.Hash] is the revision of the [Spec]. Package
// ownership adopts and releases pods and revisions. [StatusPatch] writes the
// status of an owner of any kind. The Example of the package performs one pass
// over a DaemonSet.
//
// # Sets of other kinds
//
// A set of another kind fills in a [Spec]. Its [Policy] says the order of the
// nodes, which are canaries, and which do not count while their pod is not
// available. Whatever performs the tasks may do something else than an Executor:
//
//   - A hook before a deletion, or a further budget, says [OutcomeNotNow].
//   - An update in place of a deletion for a rollout says [OutcomeUpdated].
//
// A reconciler that lists pods calls [Planner.ReplacePods]. Example (OwnKind)
// is a whole set with canaries.
//
// # Duties of the caller
//
//   - Let the planner observe all nodes and pods before it starts a task. It
//     creates pods where it knows of none, and an unknown node counts as gone.
//   - Let it observe only pods that the set owns. [ownership.Ownership.Claim]
//     decides that for a pod that has changed; [ownership.ClaimAll] adopts and
//     releases. After its error start nothing, because a pod that was not
//     adopted still runs.
//   - Start nothing for a set that is being deleted, or that selects all pods.
//   - Finish each task once, also one that was given up. A Dispatcher does.
//   - Show [Planner.Problems]: terms of a node affinity may be ignored. Tell users
//     when [Planner.Stopped] returns one, because nothing else would.
//   - Close a planner whose store of nodes other planners use.
//
// # Differences from kube-controller-manager
//
// Compared with v1.37.1; numbers are those of its issues. Creations and
// deletions:
//
//   - A template whose node affinity has no valid term is refused, and no pod
//     is deleted. There all are.
//   - A creation or deletion without an answer is sent again, and counts as done
//     until it is answered. The name of the pod, or its UID, makes that harmless.
//     There a creation gets another name, and one pod is deleted later.
//   - A creation without an answer is sent again as it was, also if the template
//     has changed since, and its pod is replaced. There the next one is created
//     at once, and two pods may run.
//   - Names follow from set, revision, node and attempt. There the API server
//     makes them.
//   - A write that is not observed delays its own node, and its pod is read after
//     half a minute. There it stops the set for up to five minutes (#72155,
//     #63465).
//   - A change of a node costs one evaluation of that node. There all nodes are
//     visited two or three times.
//   - Nodes go by their names, or as the caller says. There they have no order.
//   - A refused call pauses its node for up to a minute, and others for up to
//     two seconds. There the set waits for up to 17 minutes.
//   - Refused deletions cost the set 30 calls a minute, as refused creations
//     do.
//   - Of several pods on a node the scheduled, available, ready, older one
//     stays. Of an old and a new one that are equal in this, the new one does.
//     There the scheduled, older one stays.
//   - A terminating, unscheduled pod of a node that is gone is left alone.
//     There it is deleted again in each pass.
//   - A pod that succeeds is replaced after a wait, as one that fails, and one of
//     a node at a time. There it is replaced at once, each time.
//   - The waits after failures begin again with another revision. There they do
//     so with another generation, which a change of the strategy makes, too.
//   - A node that returns under its name with another UID waits no longer.
//     There it keeps its wait.
//   - Until a refused spec is corrected no pod is created or deleted.
//   - Failures on a node where no pod should run any more are forgotten after
//     half an hour. There refusals are the set's, and failed pods have the same
//     limit.
//
// Rollouts:
//
//   - An update strategy of unknown type is a rolling update. There it does
//     nothing.
//   - Old pods that are not available are replaced all at once, as there
//     (#123232), unless the rollout is Strict.
//   - Nodes that are not ready count against maxUnavailable only if the caller
//     wants it, or if the rollout has deleted their available pod. There all do
//     (#117204).
//   - Pods on nodes that are gone, or where they may not stay, do not count
//     against maxUnavailable.
//   - Nor does a new pod that waits to be scheduled on a node where none should
//     run, because it may wait forever.
//   - With maxSurge such a pod is deleted if an old one on the node is ready.
//     There it counts against maxSurge forever.
//   - Old pods on nodes that should have none are replaced last. There they are
//     replaced in turn.
//   - With maxSurge what replaces unavailable pods counts at once. There it
//     counts in the next pass, and other nodes go above maxSurge.
//   - With maxSurge pods of the deprecated template generation are up to date.
//     There they are so for the rollout alone.
//   - With maxSurge a pod that fails is made again after a wait. There it is
//     made again at once, each time (#124388).
//   - A rollout replaces a failed pod that waits only if its revision is new to
//     the node. There it replaces the pod at once.
//   - With maxSurge a template that has host ports is not rolled out, and
//     [Planner.Problems] says so. There the new pods wait forever (#106417).
//
// Packages revision and ownership list the differences of revisions and of
// ownership.
//
// # Differences from OpenKruise
//
// Compared with its Advanced DaemonSet, which has a partition, too:
//
//   - A partition in percent rounds up, as the other amounts do. There it
//     rounds down.
//   - The nodes that a partition keeps are the last by name. There they are the
//     first.
package rollout
