package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
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
	// volumeFailures counts the waits for its volumes that have failed.
	volumeFailures int32
	// volumesAt is when the volumes are there, or gone. It is zero before any wait
	// that does not fail.
	volumesAt time.Time
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
