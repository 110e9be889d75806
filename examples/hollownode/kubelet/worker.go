package kubelet

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/timedqueue"
)

// workerState is the life of a pod on a node:
//
//	new ──admitted──► syncing ──► terminating ──► terminated ──► finished
//	 └────rejected, or it needs no containers──────────────────────▲
//
// A pod that is deleted, has run out of time, or has a final phase terminates.
// It is terminating until its containers have exited, and terminated until its
// volumes are gone. It never goes back. Only Fleet.move writes it.
type workerState uint8

const (
	workerNew workerState = iota
	workerSyncing
	workerTerminating
	workerTerminated
	workerFinished
)

// String returns the name of the state.
func (s workerState) String() string {
	return [...]string{"new", "syncing", "terminating", "terminated", "finished"}[s]
}

// activity is what the sync of a pod waits for. A pod is synced only when idle,
// so no two of its syncs overlap.
type activity uint8

const (
	activityIdle activity = iota
	// activityMounting and activityUnmounting wait for volumes.
	activityMounting
	activityUnmounting
	// activityRunning waits for a plan of the runtime, and activityStopping for
	// one that ends the pod.
	activityRunning
	activityStopping
)

// plans reports whether a plan of the runtime is under way.
func (a activity) plans() bool { return a == activityRunning || a == activityStopping }

// String returns the name of the activity.
func (a activity) String() string {
	return [...]string{"idle", "mounting", "unmounting", "running", "stopping"}[a]
}

// volumeState is how far the volumes of a pod are:
//
//	absent ─► mounting ─► mounted ─► unmounting ─► absent
//	             └───────────────────────▲
//
// A kubelet that starts again takes those of a pod with a sandbox as mounted.
type volumeState uint8

const (
	volumesAbsent volumeState = iota
	volumesMounting
	volumesMounted
	volumesUnmounting
)

// String returns the name of the state.
func (s volumeState) String() string {
	return [...]string{"absent", "mounting", "mounted", "unmounting"}[s]
}

// apiState is what the source of a pod has of it, which is the API server:
//
//	present ──final deletion accepted──► deleted ──► gone
//	   └─────────removed by another client────────────▲
//
// A pod of which the API server has nothing is not written. That of a static
// pod is the fleet's configuration, from which it is present or gone. Only
// podRecord.leave writes it.
type apiState uint8

const (
	apiPresent apiState = iota
	apiDeleted
	apiGone
)

// String returns the name of the state.
func (s apiState) String() string { return [...]string{"present", "deleted", "gone"}[s] }

// leave moves a pod to a later state in the API.
func (r *podRecord) leave(state apiState) { r.api = max(r.api, state) }

// workerBasis is what a node has the worker of a pod from.
type workerBasis uint8

const (
	// basisConfig is the pod itself, as it was admitted.
	basisConfig workerBasis = iota
	// basisRuntime is what the runtime had running when the kubelet did not know
	// the pod, or did not admit it.
	basisRuntime
	// basisNone tells that there is no worker, because the pod was rejected or
	// gone before it began.
	basisNone
)

// String returns the name of the basis.
func (b workerBasis) String() string { return [...]string{"config", "runtime", "none"}[b] }

// dueKind says what of a pod is due.
type dueKind uint8

const (
	dueSync dueKind = iota
	// dueWrite is a call of the API server.
	dueWrite
	// dueReconcile restores a status that another client has overwritten.
	dueReconcile
	// dueVolumes ends a wait for volumes.
	dueVolumes
	// dueDeadline ends a pod that has been active for too long.
	dueDeadline
	// duePurge forgets a pod.
	duePurge
	// dueProbe runs a probe.
	dueProbe
	// dueRound visits a pod of a node.
	dueRound
	// dueCheck checks the runtime of a node.
	dueCheck
	// dueRelist compares all pods of a node with what its runtime has.
	dueRelist
	// dueRegister creates the object of a node, dueReport reports its status and
	// dueList lists its pods. They are calls of the API server.
	dueRegister
	dueReport
	dueList
	// dueMirror creates or deletes a mirror pod. It is a call of the API server.
	dueMirror
)

// String returns the name of the kind.
func (k dueKind) String() string {
	return [...]string{"sync", "write", "reconcile", "volumes", "deadline", "purge", "probe", "round", "check",
		"relist", "register", "report", "list", "mirror"}[k]
}

// dueKey identifies what waits for a time. The probe is that of dueProbe. The
// node is that of dueRound and of all kinds after it, which are of no record of
// a pod.
type dueKey struct {
	pod   types.UID
	node  string
	kind  dueKind
	probe ProbeKey
}

type dueItem = timedqueue.Item[dueKey, *podRecord]

// podRecord is what a node knows of a pod.
type podRecord struct {
	node *nodeRecord
	pod  *corev1.Pod // the latest update wins
	// unseen is an update that came while the loop was stopped, or nil.
	unseen *corev1.Pod
	// back is the object of a pod that came back to the API while the pod was
	// ending, because it had gone from there. It begins again after its end.
	back  *corev1.Pod
	state workerState
	doing activity
	// again asks for one more sync when the present one has ended.
	again   bool
	api     apiState
	volumes volumeState
	basis   workerBasis
	startup startup
	// orphan tells that its node has heard that it is gone.
	orphan bool
	// volumeFailures counts the waits for its volumes that have failed.
	volumeFailures int32
	// volumesAt is when the volumes are there, or gone. It is zero before any wait
	// that does not fail.
	volumesAt time.Time
	// seen is the age of the fleet when its kubelet saw it first.
	seen time.Duration
	// life is that of its node in which it became known.
	life uint64
	// grace is the seconds in which it ends, zero before it is terminating.
	grace int64

	observed cri.Pod
	// report is one that the runtime could not deliver, or nil.
	report   *cri.Report
	probes   map[ProbeKey]*probe
	backOffs backOffs
	waiting  map[string]Wait

	// counted is the object by which it takes room on its node; nil is none.
	counted *corev1.Pod

	publication publication
}

// former reports whether a record is of a former life of its kubelet. Nothing
// of it counts any more, and the node's round rebuilds it.
func (r *podRecord) former() bool { return r.life != r.node.life }

// hears reports whether what is wanted of a pod reaches its node. Static pods
// need no API server.
func (r *podRecord) hears() bool { return isStatic(r.pod) || r.node.hears() }

// heeds reports whether its node acts on what is wanted of a pod.
func (r *podRecord) heeds() bool { return r.hears() && r.node.loop != loopStopped }

// shown returns the object by which the API shows a pod, or nil. A static pod
// has its mirror.
func (r *podRecord) shown() *corev1.Pod {
	if isStatic(r.pod) {
		return r.node.mirrors[nameOf(r.pod)].of(r.pod, r.node.node)
	}
	return r.pod
}

// noRound is the count of visited pods of a node that has no round.
const noRound = -1

// nodeRecord is a node and its pods, the oldest first.
type nodeRecord struct {
	name string
	node *corev1.Node // nil until it is observed
	pods []*podRecord
	// life counts the starts of its kubelet, and started is when the last was.
	life    uint64
	started time.Time
	// compares is when it first compares the statuses of its pods with what the
	// API shows. It does so again after each reconcilePeriod.
	compares time.Time
	// searching tells that its node has not been Ready since its start, and was
	// not before.
	searching bool
	// starting tells that its start is still to be told in an event, and
	// registered that its object is new.
	starting, registered bool
	// visited is how many pods its round has visited, or noRound.
	visited int
	used    usage

	faults Faults
	loop   loopState
	// networkDown tells that the last check has found no network.
	networkDown bool
	// lastGood is the last good check and stoppedAt when the loop has stopped,
	// when the loop does not run. lastRelist is the last one of all pods, when
	// the runtime does not answer.
	lastGood, stoppedAt, lastRelist time.Time
	// bootID is that of the present boot; empty is that of its name and faults.
	bootID string
	// unregistered is the object to create, or nil.
	unregistered *corev1.Node

	// static are the static pods that it is to run, as of the version configured.
	// mirrors are the mirror pods in the API. Both are nil without any.
	static     map[types.NamespacedName]*corev1.Pod
	configured uint64
	mirrors    map[types.NamespacedName]*mirror
}

// insert adds a pod to those of its node, which are in the order of their
// creation, as the kubelet admits them. It returns its place.
func (n *nodeRecord) insert(r *podRecord) int {
	i, _ := slices.BinarySearchFunc(n.pods, r, func(a, b *podRecord) int {
		return cmp.Or(a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time), -1)
	})
	n.pods = slices.Insert(n.pods, i, r)
	return i
}

// wants reports whether a node is to run this static pod.
func (n *nodeRecord) wants(pod *corev1.Pod) bool {
	wanted, found := n.static[nameOf(pod)]
	return found && wanted.UID == pod.UID
}

// ending reports whether a static pod of a name, except one, is ending because
// it is no longer configured.
func (n *nodeRecord) ending(name types.NamespacedName, except types.UID) bool {
	return slices.ContainsFunc(n.pods, func(r *podRecord) bool {
		return r.api == apiGone && r.state < workerFinished && r.pod.UID != except &&
			isStatic(r.pod) && nameOf(r.pod) == name
	})
}

// hears reports whether the API server and a node can reach each other.
func (n *nodeRecord) hears() bool { return !n.faults.Silent }

// heeds reports whether a node acts on what the API server wants.
func (n *nodeRecord) heeds() bool { return n.hears() && n.loop != loopStopped }

// count makes a pod take room on its node from its admission until its
// containers have exited.
func (r *podRecord) count() {
	switch counts := r.state == workerSyncing || r.state == workerTerminating; {
	case counts && r.counted == nil:
		r.counted = r.pod
		r.node.used.add(r.counted)
	case !counts && r.counted != nil:
		r.node.used.remove(r.counted)
		r.counted = nil
	}
}

// mayRun reports whether containers of the pod run, or a plan under way may
// start some. While the runtime does not answer they may run.
func (r *podRecord) mayRun() bool {
	return r.state < workerTerminated &&
		(r.doing.plans() || r.node.loop != loopRunning || r.observed.Running())
}

// view returns what a sync sees of the pod.
func (r *podRecord) view() View {
	v := View{Pod: r.pod, Observed: &r.observed, Probes: make(Probes, len(r.probes))}
	v.last = r.publication.current(r.pod)
	for key, p := range r.probes {
		v.Probes[key] = p.result
	}
	v.RestartAll = len(r.observed.Containers) > 0 && mayRestartAll(r.pod) &&
		restartsAll(r.pod, &r.observed, r.publication.current(r.pod))
	return v
}

// status generates the status of the pod.
func (r *podRecord) status(now time.Time, terminal bool) corev1.PodStatus {
	v := statusView{
		View: r.view(), old: r.publication.current(r.pod), waiting: r.waiting, terminal: terminal,
		hostIP: r.node.ip(),
	}
	return v.generate(now)
}

// reconcilePeriod is how long a status that differs in the API stays so at
// most. Source: syncPeriod in pkg/kubelet/status, v1.37.1.
const reconcilePeriod = 10 * time.Second

// nextCompare returns when the node next compares its statuses. These are times
// of its own, as the loop of a kubelet has them, and no wait after each change.
// A thousand nodes that return at once would restore theirs in one burst then.
// And a client that goes on writing would postpone that for ever.
func (n *nodeRecord) nextCompare(now time.Time) time.Time {
	if now.Before(n.compares) {
		return n.compares
	}
	return now.Add(reconcilePeriod - now.Sub(n.compares)%reconcilePeriod)
}

// ip returns the internal IP of a node: that of its object or else its own.
func (n *nodeRecord) ip() string {
	if n.node != nil {
		for _, a := range n.node.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				return a.Address
			}
		}
	}
	h := hashOf("ip", n.name)
	// 100.64.0.0/10 is for what no other network knows (RFC 6598).
	return fmt.Sprintf("100.%d.%d.%d", 64|h>>16&63, h>>8&255, h&255)
}
