// Package controller is a whole DaemonSet controller without clock, goroutine
// and client: sets, pods, nodes, revisions and time go in, jobs come out. It
// manages any number of sets, of any kind that has a selector and a pod template.
//
// It composes the packages of the library and adds what ties them together:
//
//	Observe ──► one record for each set ── which of five tasks is next
//	              │ ownership.Ownership ──────────────► Claim
//	              │ revision.Compute ─────────────────► Revise
//	              │ rollout.Planner, on shared Nodes ─► ChangePod
//	              │ rollout.StatusPatch ──────────────► WriteStatus
//	              └ what users should know ───────────► Event
//
// A Controller has no clock, no goroutine and no client. A
// timedqueue.Dispatcher drives it in a program, a simulator can drive it in
// virtual time. Each task on the right has a type of its own, and results of
// their own type. [Controller.Jobs] composes them as jobs. Package edge performs
// the tasks and observes the cluster.
//
// # The life of a set
//
//	claiming ──► revising ──► managed      and back, when something changes
//
// A set adopts and releases first. An orphan that was not adopted runs next to
// any pod that is created for its node. Then the revision of the template is
// found or created, because new pods carry its hash. Then the planner of the
// set creates, deletes and reads pods. A set that is being deleted, that
// selects all pods, or whose selector or template is invalid is left alone. The
// garbage collector deletes the pods of a deleted set.
//
// # Status
//
// The status of a set is written when its counts change. Counts last that are
// complete, or that say that no pod is left where none should be. Clients wait
// for them, so they are written at once, a few times, and then once in each
// [Config].StatusInterval. Other counts wait until that interval after the last
// status. While they go on changing, the wait doubles with each status, up to
// half a minute. It begins again with counts that last, with another spec, and
// after half a minute without a change. All sets together write one of these a
// second. Errors of other tasks do not delay a status.
//
// The counts are those after all observations and our own writes.
// Status.observedGeneration rises when all nodes have been evaluated for the
// spec of that generation. Clients that wait for a rollout can then trust the
// counts. If another controller has raised it, nothing is written before that.
// A generation that the set does not have is written over.
//
// # Concurrency and the budget of requests
//
// Config.Concurrency is how many sets can have a full burst of requests under
// way, which is 250. More sets take turns, one pod each. So a set whose pods
// are created slowly, for example because of a webhook, holds up no other set.
//
// Config.Requests limits what all tasks send to the API server together. Each
// task takes as many requests as it may send, and returns those that it did not
// need. Changes of pods have two fifths of the requests, and claims, revisions
// and statuses a fifth each. What a kind does not need goes to the others. The
// client that performs the tasks must not have a limit of its own.
//
// # Duties of the caller
//
//   - Observe all sets, pods, nodes and revisions that exist, then call
//     MarkSynced. Nothing is handed out before.
//   - Observe in any order, and call Forget for what is gone. For an object
//     that was deleted and created again, call Forget for the former one first.
//   - Withhold reports that are older than an own write, as package
//     timedqueue/feed does.
//   - Finish each job once. A Dispatcher does.
//
// # Differences from kube-controller-manager
//
// The packages daemon, ownership and revision list theirs. Compared with
// v1.37.1, the composition adds:
//
//   - Sets take turns for each pod. There a set keeps one of two workers for up
//     to 250 creations and 250 deletions (#128442).
//   - Each kind of work has a part of the requests, so a rollout does not delay
//     statuses. There all share one limit in the order of their calls.
//   - The status of a set is written at once if it lasts, and ever more seldom
//     while counts go on changing, or other sets do. There it is written in each
//     pass.
//   - One live read of a set serves the adoptions of ten seconds. There it serves
//     those of a pass, however long that takes.
//   - observedGeneration waits until the counts are those of the generation.
//     There it also rises after an error that has stopped the pass.
//   - While a claim or a revision fails, the status is written with the former
//     generation. There it is not written.
//   - Old revisions are deleted while other tasks fail. There a failure stops
//     the pass before that.
//   - A node that is deleted changes the counts of its sets. There deletions of
//     nodes are not watched, and the counts wait for another change.
//   - The Event SelectingAll is recorded once, until the selector is corrected.
//     There it is recorded in each pass.
//
// # Size
//
// A program holds its lock for at most 10 ms of work a turn. One Start visits
// at most 1,500 nodes, pods and revisions of all sets together. What is left
// has another turn, and the sets go round. A plan for a history visits at most
// eleven pods of each of its revisions, because pods are indexed by their hash.
// A set of 100,000 nodes is taken over in 400 turns, and 500 sets of 100 nodes
// each in 1,200.
//
// With 500 sets and 2,000 nodes, of which each set selects 5 %, the longest
// turn takes under 3 ms on a busy AMD EPYC. The controller keeps 0.6 KB for a
// set on a node that it selects, besides the objects. A change of a node's
// status costs 40 to 65 µs of CPU, for the 25 sets that select it. A change of
// its labels costs 70 to 100 µs, because all sets look. BenchmarkTakeover
// measures that:
//
//	go -C examples test -run=- -bench=Takeover -benchtime=1x \
//	  ./daemonset/controller
package controller
