package invariant

// Invariant names what must hold of every run.
type Invariant string

// What must never happen. The package's comment has the fine print of each.
const (
	// NeverEarly: a client deletes a pod only when the pod is due. The deadline
	// follows from the versions of node and pod between the client's decision and
	// the delete. A delete names a UID. An eviction that a PodDisruptionBudget
	// refuses counts as one that it allows.
	NeverEarly Invariant = "never early"
	// WithinRate: the calls by which a client gives nodes of a zone our NoExecute
	// taint fit a token bucket of burst one. Its rate is the one that the zone's
	// state allows.
	WithinRate Invariant = "within the rate"
	// KnownFirst: a node of a zone that falls in a wave of expiries is not given
	// our NoExecute taint before that wave has passed. Only then it is known what
	// has happened to the zone.
	KnownFirst Invariant = "known before it is acted on"
	// InOrder: of two nodes of a zone that wait for our NoExecute taint, one that
	// fell over a wave of expiries earlier, and was not heard since, comes first.
	InOrder Invariant = "in order"
	// SparedInOutage: no client gives a node our NoExecute taint while all zones
	// are down, nor within a grace period after that or its own start. When all
	// zones are down for longer than the bound, no node keeps such a taint.
	SparedInOutage Invariant = "spared in an outage"
	// SparedOnReturn: no client gives a node our NoExecute taint that is back and
	// was not heard yet, within a wave of expiries after the end of a disruption of
	// its zone with the rate zero. It may have returned with the nodes that ended
	// it.
	SparedOnReturn Invariant = "spared on its return"
	// NotDeclaredAlive: a node becomes Unknown only if none of its heartbeats was
	// stored within its grace period before the call. The client must have been
	// able to hear of one for a grace period.
	NotDeclaredAlive Invariant = "not declared while alive"
	// UntaintedByABeat: a client removes the taints not-ready and unreachable only
	// from a node that has beaten since the client started. It may also remove
	// NoExecute while it sees all zones down.
	UntaintedByABeat Invariant = "untainted by a beat only"
	// OthersUntouched: a client's patch changes only what the controller owns.
	// The package's comment lists these taints, labels and conditions.
	OthersUntouched Invariant = "others untouched"
	// LineageKept: a NoExecute taint of ours has TimeAdded. When a client swaps
	// not-ready for unreachable or back, TimeAdded stays the earlier one.
	LineageKept Invariant = "lineage kept"
	// TimesTold: a client that declares a node, or gives it our NoExecute taint,
	// writes the time of day of its decision.
	TimesTold Invariant = "times as they are"
	// NotTwice: a client whose delete of a pod was answered sends no second one, if
	// it is shown that the pod is terminating, or within a minute: later the pod
	// may be back from a backup. It does not repeat a write that was answered to
	// an object that has not changed since.
	NotTwice Invariant = "not twice"
	// ReadFirst: a client whose patch of a node, or mark of a pod that is not
	// ready, was refused, because the object is not the one that it was computed
	// from or is gone, sends no other one before it has read the object from the
	// API server.
	ReadFirst Invariant = "read before it is written again"
	// AsConfigured: a pod is made to leave by the action of Settings.Action alone,
	// and with Settings.SpareDaemons none of a DaemonSet is. With Settings.ByNode
	// no node is given our NoExecute taint.
	AsConfigured Invariant = "as configured"
	// WithinBudget: the attempts of a client to make pods leave that have
	// succeeded or failed fit a token bucket for each share of each budget.
	WithinBudget Invariant = "within the budget"
	// Halted: a client that has seen the annotation on the leader's lease that
	// halts it makes no pod leave. Nor does it give a node our NoExecute taint.
	Halted Invariant = "halted"
	// TimeoutKept, with Settings.ByNode: no pod leaves a node, except for a taint,
	// before the client has seen the node ill for Settings.Timeout. Pods of
	// DaemonSets stay.
	TimeoutKept Invariant = "after the node's timeout"
	// SparedWhenReady: no pod is made to leave a node that the client sees ready,
	// except for a taint of others. In a recovery period our taints act, too.
	SparedWhenReady Invariant = "spared when ready"
	// Quiet: when nothing outside of the controller has changed for long, clients
	// send only calls about the leader's lease. Others may be about pods that a
	// PodDisruptionBudget has refused to let go; see [Judge.Quiet].
	Quiet Invariant = "quiet"
)

// What must happen in time. Each has Settings.Bound, counted from what asks for
// it and from Settings.CalmBound after the calm began. The package's comment
// says when it has longer.
const (
	// InTime: a pod that must leave has a deletionTimestamp, or is gone. Its
	// deadline is that of NeverEarly, with the start that the acting client can
	// know.
	InTime Invariant = "in time"
	// EvictedInOrder: a pod that must leave is told so before any pod that had to
	// Settings.Bound later. It holds however few calls the client may send. With
	// Settings.LowPriorityFirst priorities come first.
	EvictedInOrder Invariant = "evicted in order"
	// NoIdleToken: while the bucket of WithinRate has a token, no node waits that
	// fell more than one wave of expiries ago. With Settings.ByNode no node with
	// pods waits that has been ill for Settings.Timeout.
	NoIdleToken Invariant = "no idle token"
	// DeclaredInTime: a node whose last heartbeat was stored longer than its grace
	// period ago is Unknown. When the calm begins it has a grace period more.
	DeclaredInTime Invariant = "declared in time"
	// Recovered: a node that is Ready, and has beaten since the acting client
	// knows it, has neither of the taints not-ready and unreachable. They may stay
	// until its recovery period is over.
	Recovered Invariant = "recovered"
	// TaintsFollow: a node has exactly those of our NoSchedule taints that its
	// conditions and spec.unschedulable ask for.
	TaintsFollow Invariant = "taints follow the conditions"
	// PodsNotReady: no pod on a node that is Unknown is Ready, terminating ones
	// included. A pod that became Ready after the node had become Unknown is left
	// alone.
	PodsNotReady Invariant = "pods of unknown nodes are not ready"
	// NothingLeft: at the end the acting client remembers exactly the nodes, pods
	// and zones that it sees. It has no more pods to evict than must leave at some
	// time, and no more nodes to taint than wait.
	NothingLeft Invariant = "nothing left"
)
