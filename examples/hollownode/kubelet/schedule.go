package kubelet

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/timedqueue"
)

// FleetConfig says how the nodes of a fleet run.
type FleetConfig struct {
	// Runtime runs the containers of all nodes. Required. The fleet alone uses it.
	Runtime cri.Runtime
	// Rand returns numbers in [0, 1). It spreads the syncs of pods. Nil means that
	// they are not spread.
	Rand func() float64
	// Backoff is the wait after a call of the API server that failed. Statuses and
	// deletions of pods wait for 10 s at the most.
	Backoff timedqueue.Backoff
	// Capacity is what nodes have of each resource of which their objects say
	// nothing. Unless it says otherwise, that is 32 CPUs, 256 GiB of memory, 1 TiB
	// of storage and 110 pods.
	Capacity corev1.ResourceList
	// ListPods makes each start of a kubelet list its pods.
	ListPods bool
	// StaticPods are the pods that each node runs by itself; see
	// [ValidateStaticPods]. The name of the node is added to theirs. They are only
	// read.
	StaticPods []*corev1.Pod
	// Record takes each event when it happens. It must not wait and must not call
	// the fleet. Nil means that there are none, which costs nothing.
	Record func(Event)
}

// ErrInvalidConfig is wrapped by the errors of [NewFleet].
var ErrInvalidConfig = errors.New("invalid fleet config")

// Validate joins all that is wrong with the config.
func (c FleetConfig) Validate() error {
	var problems []error
	if c.Runtime == nil {
		problems = append(problems, errors.New("config field Runtime is nil, want a runtime"))
	}
	if err := c.Backoff.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("config field Backoff: %w", err))
	}
	if err := ValidateStaticPods(c.StaticPods); err != nil {
		problems = append(problems, fmt.Errorf("config field StaticPods: %w", err))
	}
	return errors.Join(problems...)
}

// Fleet is the kubelets of any number of nodes. It has no clock and starts
// nothing. It is not safe for concurrent use.
//
// Observe nodes and pods, and perform the tasks that Start hands out. The tasks
// are the calls of the API server. All else happens inside, at the latest in
// the call of Start at the time that Next tells.
type Fleet struct {
	config FleetConfig
	queue  *timedqueue.Queue[dueKey, *podRecord]
	nodes  map[string]*nodeRecord
	pods   map[types.UID]*podRecord
	// manifests are the static pods of each node. The version counts changes.
	manifests       []manifest
	manifestVersion uint64
	// mirrors are the mirror pods in the API.
	mirrors map[types.UID]*corev1.Pod
	// removals are pods whose removal waits until all pods are known.
	removals []types.UID
	// unlisted are nodes whose orphans end when all pods are known.
	unlisted []*nodeRecord
	synced   bool
	// unregistered counts the nodes that are to create their objects.
	unregistered int
	// halted holds all final deletions.
	halted bool
	// made is when the fleet was made.
	made   time.Time
	totals totals
}

// age is how old the fleet is. A pod has such times in place of a time.Time,
// which has three words. Durations are exact although the wall clock steps.
func (f *Fleet) age(now time.Time) time.Duration { return now.Sub(f.made) }

// node returns the record of a node, and makes it if there is none.
func (f *Fleet) node(now time.Time, name string) *nodeRecord {
	n, known := f.nodes[name]
	if !known {
		n = &nodeRecord{name: name, started: now, visited: noRound}
		f.nodes[name] = n
	}
	return n
}

// beginRound begins to visit all pods of a node, the oldest first. A round that
// is under way begins again.
func (f *Fleet) beginRound(now time.Time, n *nodeRecord) {
	n.visited = 0
	f.queue.Add(dueKey{node: n.name, kind: dueRound}, nil, now)
}

// observe relists a pod, and returns what has happened to its containers. It is
// nothing while the runtime does not answer.
func (f *Fleet) observe(now time.Time, r *podRecord) []lifecycleEvent {
	if r.node.loop != loopRunning {
		return nil
	}
	observed, _ := f.config.Runtime.Pod(now, r.pod.UID)
	events := compare(&r.observed, &observed)
	r.observed = observed
	return events
}

// publish replaces the status of a pod.
func (f *Fleet) publish(now time.Time, r *podRecord, status corev1.PodStatus) {
	first, before := r.publication.version == 0, r.publication.current(r.pod)
	if !r.publication.set(f.age(now), r.pod, status) {
		return
	}
	f.totals.countEnds(before, &status)
	if r.state == workerSyncing && !isTerminal(status.Phase) &&
		(first || before.Phase == corev1.PodPending && status.Phase == corev1.PodRunning) {
		f.totals.starts.observe(f.age(now) - r.seen)
	}
	f.requestWrite(now, r)
}

func (f *Fleet) requestSync(now time.Time, r *podRecord) {
	if r.state != workerFinished {
		f.schedule(r, dueSync, now)
	}
}

func (f *Fleet) requestWrite(now time.Time, r *podRecord) {
	if f.mayWrite(r) {
		f.queue.Add(dueKey{pod: r.pod.UID, kind: dueWrite}, r, now.Add(r.node.faults.APILatency))
	}
}

// mayWrite reports whether a call about a pod is needed and may be sent.
func (f *Fleet) mayWrite(r *podRecord) bool {
	return r.mustWrite() && r.node.hears() && (r.publication.pending() || !f.halted)
}

// schedule makes something of a pod due.
func (f *Fleet) schedule(r *podRecord, kind dueKind, due time.Time) {
	f.scheduleKey(r, dueKey{pod: r.pod.UID, kind: kind}, due)
}

func (f *Fleet) scheduleKey(r *podRecord, key dueKey, due time.Time) {
	if !f.queue.Add(key, r, due) {
		f.queue.Reschedule(key, due)
	}
}

// mustWrite reports whether the API server lacks something of a pod that it
// shows.
func (r *podRecord) mustWrite() bool {
	return r.api != apiGone && (r.publication.pending() || r.deletable()) && r.shown() != nil
}

// deletable reports whether the API server can delete a pod for good. It is to
// be deleted, its containers have ended, and its last status is written.
func (r *podRecord) deletable() bool {
	return r.state == workerFinished && r.pod.DeletionTimestamp != nil && r.api == apiPresent &&
		r.publication.version == r.publication.written
}
