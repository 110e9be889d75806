package invariant

// Invariant names a thing that has to hold.
type Invariant string

// What must never happen.
const (
	// NeverEarly: when a delete of a pod by a client takes effect, the pod was due
	// at the time at which the call was sent, under some version of node and pod
	// between what the client had seen when it decided and now. A taint that the
	// pod does not tolerate makes it due when both are there. One that it
	// tolerates for some seconds does so as much later, counted from the taint's
	// start or the pod's arrival, whichever is later. The start is the time since
	// which the taint, or one of its lineage, is stored without a gap, or
	// TimeAdded and a second if that is earlier. Of several tolerations the first
	// that matches counts. Our own taints make no pod due while the client sees
	// all zones down. A delete names a UID.
	NeverEarly Invariant = "never early"
	// WithinRate: the calls by which a client gives nodes of a zone our NoExecute
	// taint fit a token bucket of burst one, at the rate that the zone's state
	// allows. A node is not ready if the client sees that, or has not heard it for
	// a grace period: whether that was written does not matter. Until every client
	// must know that a node is silent it may count as either, and the highest rate
	// that this allows counts. A call may have been decided a moment before it was
	// sent: Settings.queueing, or before the client stood still. That another call
	// about the node was under way, or that the client had none to spare, is no
	// excuse.
	WithinRate Invariant = "within the rate"
	// KnownFirst: after the first node of a zone has fallen, by what the client
	// sees or no longer hears, no node that falls within a wave of expiries
	// (Settings.BeatInterval and a tenth) is given our NoExecute taint before that
	// wave has passed: only then it is known what has happened to the zone. The
	// next one to fall after it begins another wave.
	KnownFirst Invariant = "known before it is acted on"
	// InOrder: of two nodes of a zone that both wait for our NoExecute taint, the
	// one that fell clearly more than a wave of expiries earlier comes first, if
	// none of its writes has failed: none that was sent, and there was calm since
	// it fell or is for Settings.CalmBound.
	InOrder Invariant = "in order"
	// SparedInOutage: no client gives a node our NoExecute taint while it must
	// know that all zones are down, nor within a grace period after that or after
	// its start; nor, if it could see it, while the cluster's zones truly are down
	// or were a grace period ago. And while they are, for longer than the bound,
	// no node keeps such a taint; one that clients have written to all the time
	// may for 5 s more.
	SparedInOutage Invariant = "spared in an outage"
	// NotDeclaredAlive: a node becomes Unknown only if none of its heartbeats was
	// stored within its grace period before the call was sent, and only after a
	// grace period in which the client could have heard of one: it ran, and the
	// API server did not refuse it for longer than Settings.BlindAfter. A
	// heartbeat that came after the client had read the lease may be missed for
	// ten seconds. A node that has never reported has the startup grace period
	// from its creation on, and is not tainted NoExecute as ill before.
	NotDeclaredAlive Invariant = "not declared while alive"
	// UntaintedByABeat: a client takes the taints not-ready and unreachable from a
	// node only if the node has beaten since the client started; NoExecute also
	// while it sees all zones down.
	UntaintedByABeat Invariant = "untainted by a beat only"
	// OthersUntouched: a client's patch changes the taints that are ours, the
	// labels beta.kubernetes.io/os and arch, the four conditions that the kubelet
	// reports, these only to Unknown, a pod's Ready, only to False, its
	// DisruptionTarget, and nothing else.
	OthersUntouched Invariant = "others untouched"
	// LineageKept: a NoExecute taint of ours has TimeAdded, and when a client
	// swaps not-ready for unreachable or back TimeAdded stays the earlier one.
	LineageKept Invariant = "lineage kept"
	// TimesTold: the time of day that a client writes when it declares a node, or
	// gives it our NoExecute taint, is that of the decision.
	TimesTold Invariant = "times as they are"
	// NotTwice: a client that was answered that it has deleted a pod sends no
	// second delete for it, and one that was answered that it has written
	// something does not write the same again to an object that has not changed
	// since.
	NotTwice Invariant = "not twice"
	// AsConfigured: a pod is made to leave by the action of Settings.Action alone,
	// and none of a DaemonSet with Settings.SpareDaemons. So no pod that a
	// PodDisruptionBudget keeps is deleted, with EvictThenDelete not before it was
	// due for Settings.EvictFor. With Settings.ByNode no node is given our
	// NoExecute taint.
	AsConfigured Invariant = "as configured"
	// WithinBudget: the attempts of a client to make pods leave that have
	// succeeded or failed fit, for each share of each budget, a token bucket. Each
	// had its token when it was decided: between its first call and that which
	// made the pod leave. One that found nothing to do, or was refused by a
	// PodDisruptionBudget, has given it back; that an error has no other meaning
	// is not said of 404, 409 and 422.
	WithinBudget Invariant = "within the budget"
	// Halted: while the leader's lease carries the annotation that halts its
	// leader, no client that has been shown that sends a call that makes a pod
	// leave, or that gives a node our NoExecute taint. In a calm each client has
	// been shown it after Settings.Bound.
	Halted Invariant = "halted"
	// TimeoutKept, with Settings.ByNode: no pod leaves a node, if not for a taint,
	// before the node was ill for Settings.Timeout by what the client has seen,
	// nor before the client has acted again for so long after it saw all zones
	// down. Pods of DaemonSets stay. The first pod of each node is held to
	// KnownFirst, SparedInOutage and WithinRate as a NoExecute taint is.
	TimeoutKept Invariant = "after the node's timeout"
	// SparedWhenReady: no pod is made to leave a node that the client sees ready,
	// if not for a taint of others. In a recovery period our taints act, too.
	SparedWhenReady Invariant = "spared when ready"
	// Quiet: when nothing outside of the controller has changed for long, clients
	// send no calls but those about the leader's lease, and about pods that a
	// PodDisruptionBudget has refused to let go; see Judge.Quiet. Package explore
	// says after how long: SettleTime after the last fault of a random world,
	// three grace periods, a turn for each node and each pod, the longest
	// toleration and 4 min of retries; 7 min after that of a shipped scenario with
	// few nodes, or a perturbation.
	Quiet Invariant = "quiet"
)

// What must happen in time. Each has Settings.Bound after the last of: what
// asks for it, Settings.CalmBound after the calm began, and the last moment at
// which the acting client had as many calls under way as it may; see
// [Settings]. A client with a limited rate has a quarter of it for
// declarations, for recoveries, for evictions, and for all other writes; it may
// take as much longer as its part needs for the calls of the same kind that it
// has sent since. That it was busy with other work is no excuse. Where tokens
// count, there is none when the calm begins: a client that fears that it does
// not lead any more uses them without a call.
const (
	// InTime: a pod that must leave has a deletionTimestamp, or is gone. Its
	// deadline is that of NeverEarly, with what the acting client knows of the
	// start: TimeAdded and a second, or its first sight where TimeAdded is
	// missing, in the future, or more than ten seconds before the watch was
	// current last. So it is no excuse that the watch has shown nothing for long,
	// or that the client stood still; but where TimeAdded is missing its machine's
	// suspension counts in no toleration. It is one that the watch shows a change
	// late though it shows others meanwhile. Our own taints do not count while the
	// client sees all zones down, nor until it acts again, nor while the API
	// server shows the node ready. With Settings.ByNode all pods of a node but
	// those of DaemonSets are due when the first of them was told to leave, or
	// when they come later. A budget that has no token is an excuse, so is that
	// the leader is halted, and a PodDisruptionBudget that allows no disruption,
	// to a client that evicts, until it has allowed one for as long as a retry may
	// take. With EvictThenDelete it is none from Settings.EvictFor after the
	// deadline on.
	InTime Invariant = "in time"
	// NoIdleToken: while the bucket of WithinRate has a token, at the lowest rate
	// that the zone may have, no node waits that fell more than one wave of
	// expiries ago. With Settings.ByNode: none with pods that has been ill for
	// Settings.Timeout.
	NoIdleToken Invariant = "no idle token"
	// DeclaredInTime: a node whose last heartbeat was stored longer than its grace
	// period ago is Unknown. From the beginning of the calm on it has a grace
	// period more.
	DeclaredInTime Invariant = "declared in time"
	// Recovered: a node that is Ready and has beaten since the acting client knows
	// it has none of the taints not-ready and unreachable, once its recovery
	// period is over. A node that was written to four times, less than two minutes
	// apart, may keep them for 30 s after the last write, or 5 s if one of them is
	// NoExecute.
	Recovered Invariant = "recovered"
	// TaintsFollow: a node has exactly those of our NoSchedule taints that its
	// conditions and spec.unschedulable ask for. For one that was written to as
	// often it may take as long, but 5 s if it has none that keeps pods from a
	// node that cannot run them, and needs one.
	TaintsFollow Invariant = "taints follow the conditions"
	// PodsNotReady: no pod on a node that is Unknown is Ready, also none that is
	// terminating, unless it became so after the node had become Unknown: a client
	// that disagrees is not fought. A node that has become Unknown four times,
	// less than two minutes apart, may take 30 s more.
	PodsNotReady Invariant = "pods of unknown nodes are not ready"
	// MarkTakenBack: no pod that is not due carries the condition DisruptionTarget
	// with the reason DeletionByTaintManager or DeletionByNodeLifecycle.
	MarkTakenBack Invariant = "mark taken back"
	// NothingLeft: at the end the acting client remembers the nodes, pods and
	// zones that it sees and no others, no more pods to evict than must leave at
	// some time, and no more nodes to taint than wait.
	NothingLeft Invariant = "nothing left"
)
