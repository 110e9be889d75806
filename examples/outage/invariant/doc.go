// Package invariant watches a simulated cluster and reports what its node
// lifecycle controller did wrong.
//
// A [Judge] is a model.Witness. It computes what is right from the cluster's
// own truth, which the controller cannot see. That is what the API server has
// stored and since when, when each heartbeat reached it, and what each process
// was shown. It shares no code with the library and imports none of it, so a
// mistake there is not repeated here. Where the library keeps heaps and queues,
// the judge compares all objects again: that is slow and obvious.
//
//	judge := invariant.New(world, settings, subject)
//	world.Watch(judge)
//	// each second or so of the cluster's time:
//	judge.Check()
//	// and when all is over:
//	judge.End()
//	for _, violation := range judge.Violations() { ... }
//
// # Two kinds of invariants
//
// What must never happen is judged when it happens: a pod deleted early, a node
// tainted too fast. It holds for every process at any time, also with old
// caches, failing calls and two leaders. What counts is what a process can
// know: what its watches have shown it, and the answers to its own calls.
//
// Pods leave for taints or with their whole node, by a delete or through the
// Eviction API, as fast as budgets allow: see [Settings]. Only the calls to the
// API server are judged. Priorities are not, because which of several pods
// waited for a retry is not known outside.
//
// What must happen in time is judged in Check, while a controller has been able
// to act for long enough: see [Subject.Calm] and [Settings].
//
// # Fine print: what must never happen
//
// [NeverEarly]. A taint that a pod does not tolerate makes it due when both are
// there. A taint that it tolerates for some seconds makes it due that much
// after the taint's start or the pod's arrival, whichever is later. The start
// is the time since which the taint, or one of its lineage, is stored without a
// gap. TimeAdded and a second counts instead if that is earlier. Of several
// matching tolerations the first counts. Our own taints make no pod due while
// the client sees all zones down.
//
// [WithinRate]. A node is not ready if the client sees that, or has not heard
// it for a grace period, whether or not that was written. Until every client
// must know that a node is silent, it may count as ready or not. The highest
// rate that this allows counts. A call may have been decided before it was
// sent: by Settings.queueing, or before the client stood still. Another call
// about the node that was under way is no excuse. Neither is a client without a
// call to spare.
//
// [KnownFirst]. A node falls when the client sees it not ready or stops hearing
// it. A wave of expiries is Settings.BeatInterval and a tenth. The first node
// that falls after a wave begins another.
//
// [InOrder]. It holds if none of the earlier node's writes has failed. That is
// known if no call of it failed, and there was calm since the node fell or for
// Settings.CalmBound.
//
// [SparedInOutage]. All zones are down when the client must know so. They also
// are when it could see that they truly are, or were a grace period ago. A node
// that clients have written to all the time may keep its taint for 5 s more.
// For a grace period and what any work may take, no node may beat and the
// client be shown no heartbeat. Then it must know so, also without a calm, and
// when the API server has not answered.
//
// [SparedOnReturn]. The API server has stored the zone as partially disrupted
// for longer than Settings.Bound, in a calm. A node is back that reaches the
// API server. In a zone that flaps, only its better time counts for the wave,
// and the next wave begins after the zone was well for one.
//
// [NotDeclaredAlive]. A client could hear while it ran and the API server did
// not refuse it for longer than Settings.BlindAfter. A heartbeat that came
// after the client had read the lease may be missed for ten seconds. A node
// that has never reported has the startup grace period from its creation on,
// and is not tainted NoExecute as ill before.
//
// [OthersUntouched]. The controller owns its taints and the labels
// beta.kubernetes.io/os and arch. It sets the four conditions that the kubelet
// reports, only to Unknown, and a pod's Ready, only to False. It sets a pod's
// DisruptionTarget, only to True, and its status.reason, only to NodeLost. It
// takes neither back.
//
// [AsConfigured]. A pod that a PodDisruptionBudget keeps is never deleted. With
// EvictThenDelete it is not deleted before it was due for Settings.EvictFor.
//
// [WithinBudget]. Each attempt had its token when it was decided: between its
// first call and the one that made the pod leave. An attempt that found nothing
// to do, or was refused by a PodDisruptionBudget, has given its token back. An
// error 404, 409 or 422 may mean either.
//
// [Halted]. In a calm each client has seen the annotation after
// Settings.Bound.
//
// [TimeoutKept]. After the client saw all zones down, the timeout starts again
// when it acts again. The first pod of each node is held to [KnownFirst],
// [SparedInOutage] and [WithinRate] as a NoExecute taint is.
//
// [Quiet]. Package explore says after how long. In a random world it counts
// from the last fault: SettleTime, three grace periods and the longest
// toleration. To that come a turn for each node and each pod, and 4 min of
// retries. In a shipped scenario with few nodes, or after a perturbation, it is
// 7 min.
//
// # Fine print: what must happen in time
//
// Each bound is longer by the time in which the acting client had as many calls
// under way as it may. A client with a limited rate has a quarter of
// it each for declarations, recoveries, evictions and all other writes. It may
// take as much longer as its part needs for the calls of the same kind that it
// has sent since. Other work is no excuse. Where tokens count, there is none
// when the calm begins: a client that may have lost its lease uses them without
// a call.
//
// [InTime]. The acting client knows TimeAdded and a second, and its first
// sight. It counts from the earlier of the two, and from ten seconds before its
// first sight at the earliest, unless it found the taint when it started. So a
// watch that shows a change late is an excuse for what it is late. The
// suspension of the client's machine counts in no toleration, unless the client
// is started again.
//
// Our own taints do not count from when the client sees all zones down until it
// acts again. Nor do they while the API server shows the node ready. With
// Settings.ByNode all pods of a node are due when the first of them was told to
// leave, or when they come later. Pods of DaemonSets are not.
//
// A budget without a token is an excuse, and so is a halted leader. For a
// client that evicts, so is a PodDisruptionBudget until it has allowed a
// disruption for as long as a retry may take. With EvictThenDelete it is none
// from Settings.EvictFor after the deadline on.
//
// [EvictedInOrder]. The pod was due as for InTime, and had a token. That the
// client was busy is no excuse. For CalmBound after a call about a pod it may
// wait for its retry.
//
// [NoIdleToken]. The bucket has the lowest rate that the zone may have. For one
// wave of expiries after a disruption of a zone ends it is the one of the
// disruption, as for SparedOnReturn.
//
// [Recovered]. A node that was written to four times, less than two minutes
// apart, may keep the taints for 30 s after the last write. It may keep them
// for 5 s if one of them is NoExecute.
//
// [TaintsFollow]. A node that was written to as often may take as long. It may
// take 5 s if it needs a taint that keeps pods from a node that cannot run
// them, and has none.
//
// [PodsNotReady]. A node that has become Unknown four times, less than two
// minutes apart, may take 30 s more.
package invariant
