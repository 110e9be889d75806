// Package daemon decides where the pods of a DaemonSet belong, and what is to be done
// so that they get there. It knows of pods only that there is to be one on each node
// that fits: of DaemonSets, of what replaces them, and of nodes that an autoscaler has
// yet to make. What it decides is what kube-controller-manager v1.37 does, but for the
// differences that README lists.
//
// # Where a pod belongs
//
// [Compile] makes a [Placement] from a pod template, and [Placement.Place] says of a
// node whether a pod should run there, whether one that is there may stay, and what
// speaks against it. The caller compiles anew when the template changes.
//
// # What is to be done
//
// A [Planner] is told of nodes and pods as they change, and plans: pods to be made and
// to be deleted, each with its [StepReason], and when to ask again. A change of one node
// costs a look at that node, however many there are. Everything that it hands out is
// under way until it is told how that ended:
//
//	planner, err := daemon.NewPlanner(daemon.Config{Spec: daemon.SpecOf(set, revision)}, time.Now())
//	...
//	planner.ObserveNode(now, node) // and ForgetNode, ObservePod, ForgetPod
//	...
//	plan := planner.Plan(now)
//	results, err := executor.Execute(ctx, daemon.OwnerOf(set), plan)
//	for _, result := range results {
//		planner.Report(time.Now(), result)
//	}
//
// It only decides; the caller lets one goroutine at a time into it, and need not hold
// the lock during the calls. [Planner.Status] counts for the status from the same
// knowledge, and [Planner.Waits] tells why nothing happens on a node.
//
// # Of which template a pod is
//
// A ControllerRevision keeps each template. The same bytes are stored as by
// kube-controller-manager, so that the one can take over from the other without a
// restart of any pod. [PlanHistory] decides which is the current one, [HistoryKeeper.Keep]
// sees to it, and [KeptHistory.Hash] is the revision of the [Spec]. The Example of the
// package is such a pass, from a DaemonSet to its status.
//
// # Duties of the caller
//
//   - Tell the planner of all nodes and pods before it plans: it makes pods where it
//     knows of none, and takes a node that it was not told of for gone.
//   - Tell it of pods that the set owns, and of no others. [Ownership.Claim] says of a
//     pod that has changed whether it is one; those to be adopted or released are for
//     [ClaimAll]. After an error of that, plan nothing: what was not adopted still runs.
//   - Plan nothing for a set that is being deleted, nor for one that selects all pods.
//   - Report each step of a plan once, also one that was given up. While one plan is
//     carried out the next may be, too: nothing is handed out twice.
//   - Ask again at [Plan.Next] and after each thing that was observed or reported.
package daemon
