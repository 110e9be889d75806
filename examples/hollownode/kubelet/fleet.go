package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"slices"
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
}

// NewFleet returns a fleet without nodes.
func NewFleet(config FleetConfig, now time.Time) (*Fleet, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[dueKey, *podRecord]{Backoff: config.Backoff}, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	config.Capacity = completed(config.Capacity, defaultCapacity())
	manifests, err := newManifests(config.StaticPods)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	return &Fleet{
		config: config, queue: queue, nodes: map[string]*nodeRecord{}, pods: map[types.UID]*podRecord{},
		manifests: manifests, manifestVersion: 1, mirrors: map[types.UID]*corev1.Pod{},
	}, nil
}

// node returns the record of a node, and makes it if there is none.
func (f *Fleet) node(now time.Time, name string) *nodeRecord {
	n, known := f.nodes[name]
	if !known {
		n = &nodeRecord{name: name, started: now, visited: noRound}
		f.nodes[name] = n
	}
	return n
}

// SetStaticPods replaces the static pods of all nodes. Those that are no longer
// among them end, and one that has changed is replaced. When it returns an
// error nothing has changed. O(nodes).
func (f *Fleet) SetStaticPods(now time.Time, pods []*corev1.Pod) error {
	manifests, err := newManifests(pods)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	now = f.queue.Advance(now)
	if slices.EqualFunc(manifests, f.manifests, func(a, b manifest) bool { return a.text == b.text }) {
		return nil
	}
	f.manifests = manifests
	f.manifestVersion++
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		f.beginRound(now, f.nodes[name])
	}
	return nil
}

// ObserveNode adds a node or replaces its object. Pods that came before their
// node are admitted now.
func (f *Fleet) ObserveNode(now time.Time, node *corev1.Node) {
	now = f.queue.Advance(now)
	n := f.node(now, node.Name)
	known, before := n.node != nil, n.node
	n.node = node
	if known {
		f.tellChange(n, before)
	} else {
		if n.registered = n.unregistered != nil; n.registered {
			n.unregistered = nil
			f.unregistered--
		}
		f.started(now, n)
		f.beginRound(now, n)
	}
}

// ForgetNode removes a node whose machine is gone, with all that ran on it.
// Nothing is written of its pods. They wait for a node of that name, until they
// are forgotten themselves.
func (f *Fleet) ForgetNode(now time.Time, name string) {
	now = f.queue.Advance(now)
	f.config.Runtime.RemoveNode(now, name)
	if n, known := f.nodes[name]; known {
		n.node, n.faults, n.bootID = nil, Faults{}, ""
		n.static, n.configured = nil, 0
		for _, r := range n.pods {
			if isStatic(r.pod) {
				r.leave(apiGone)
			}
		}
		f.beginLife(now, n)
	}
}

// ObservePod adds a pod that is bound to a node, or replaces its object. The
// latest update wins. A mirror pod shows the static pod of its name, and is
// deleted if there is none.
func (f *Fleet) ObservePod(now time.Time, pod *corev1.Pod) {
	now = f.queue.Advance(now)
	if isMirror(pod) {
		f.observeMirror(now, pod)
		return
	}
	pod = fromAPI(pod)
	r, known := f.pods[pod.UID]
	if !known {
		f.add(now, pod)
		return
	}
	switch {
	case r.api == apiGone:
		r.back = pod
		return
	case r.former() || !r.node.heeds():
		r.unseen = pod
		return
	}
	old := r.pod
	r.pod, r.unseen = pod, nil // an older update may still wait for the round
	f.update(now, r, old)
}

// HasPod reports whether a pod is known: it has been observed, or only the
// runtime has it.
func (f *Fleet) HasPod(uid types.UID) bool { return f.pods[uid] != nil || f.mirrors[uid] != nil }

// ForgetPod removes a pod that the API server no longer has. Its containers
// end. Before MarkSynced the removal waits.
func (f *Fleet) ForgetPod(now time.Time, uid types.UID) {
	now = f.queue.Advance(now)
	r, known := f.pods[uid]
	switch {
	case f.forgetMirror(now, uid) || !known:
	case !f.synced:
		f.removals = append(f.removals, uid)
	default:
		r.back = nil
		f.remove(now, r)
	}
}

// MarkSynced tells that all pods have been observed. From then on static pods
// start, and pods that only the runtime has are ended.
func (f *Fleet) MarkSynced(now time.Time) {
	f.queue.Advance(now)
	f.synced = true
}

// Halt holds the final deletions of pods and those of mirror pods, until
// Resume. All else goes on.
func (f *Fleet) Halt(now time.Time) {
	f.queue.Advance(now)
	f.halted = true
}

// Resume lets what Halt has held go on. O(pods log pods).
func (f *Fleet) Resume(now time.Time) {
	now = f.queue.Advance(now)
	f.halted = false
	for _, uid := range slices.Sorted(maps.Keys(f.pods)) {
		if r := f.pods[uid]; !r.former() {
			f.requestWrite(now, r)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(f.mirrors)) {
		pod := f.mirrors[uid]
		f.requestMirror(now, f.nodes[pod.Spec.NodeName], nameOf(pod))
	}
}

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

// schedule makes something of a pod due.
func (f *Fleet) schedule(r *podRecord, kind dueKind, due time.Time) {
	f.scheduleKey(r, dueKey{pod: r.pod.UID, kind: kind}, due)
}

func (f *Fleet) scheduleKey(r *podRecord, key dueKey, due time.Time) {
	f.queue.Set(key, r, due)
}

func (f *Fleet) scheduleNode(n *nodeRecord, kind dueKind, due time.Time) {
	key := dueKey{node: n.name, kind: kind}
	f.queue.Set(key, nil, due)
}

// dropWork makes nothing of a pod due any more.
func (f *Fleet) dropWork(r *podRecord) {
	for kind := range dueProbe {
		f.queue.Remove(dueKey{pod: r.pod.UID, kind: kind})
	}
	for key := range r.probes {
		f.queue.Remove(dueKey{pod: r.pod.UID, kind: dueProbe, probe: key})
	}
}
