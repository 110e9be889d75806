package kubelet

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// Counts are how many nodes and pods a fleet has, and what has happened since
// it was made. The restart of a kubelet ends no count.
type Counts struct {
	// Nodes are those that are observed, by state: silent; failing or stopped
	// without a runtime; else running. Each state is there.
	Nodes map[string]int
	// Desired are the pods that the kubelets are told to run, those that were
	// rejected or have ended included. Active are those of them that may run.
	Desired, Active BySource
	// Mirrors are the mirror pods in the API.
	Mirrors int
	// Workers are the pods that the kubelets take care of. What there is none of
	// is not in it.
	Workers map[Worker]int

	// Terminated are the containers that have ended.
	Terminated map[Termination]int
	// Restarted are pods that came back while they were ending, and began again.
	Restarted BySource
	// Orphaned are the pods that only the runtime had running.
	Orphaned int
	// SandboxErrors are sandboxes that could not be created, of pods that do not
	// end.
	SandboxErrors int
	// Starts are from when a kubelet sees a pod to its first sync, and to when it
	// runs: two of each pod. TotalStarts are from the creation of a pod of the API
	// to when the API shows that it runs.
	Starts, TotalStarts Durations
	// Writes are from the first change of a status that the API does not have to
	// its write.
	Writes Durations
}

// Lifecycle is how far the end of a pod is.
type Lifecycle string

const (
	// LifecycleSync: the pod is to run.
	LifecycleSync Lifecycle = "sync"
	// LifecycleTerminating: its containers end.
	LifecycleTerminating Lifecycle = "terminating"
	// LifecycleTerminated: its containers have ended.
	LifecycleTerminated Lifecycle = "terminated"
)

// ConfigState says what a kubelet knows of a pod besides its containers.
type ConfigState string

const (
	// ConfigStateDesired: it is told to run the pod.
	ConfigStateDesired ConfigState = "desired"
	// ConfigStateOrphan: it no longer is.
	ConfigStateOrphan ConfigState = "orphan"
	// ConfigStateRuntimeOnly: only the runtime has the pod.
	ConfigStateRuntimeOnly ConfigState = "runtime_only"
)

// Worker is a kind of pod that a kubelet takes care of.
type Worker struct {
	Lifecycle Lifecycle
	Config    ConfigState
	// Static is false if only the runtime has the pod.
	Static bool
}

// Counts counts the nodes and pods. O(nodes + pods). Source of what counts:
// HandlePodCleanups in pkg/kubelet/kubelet_pods.go, v1.37.1.
func (f *Fleet) Counts() Counts {
	const silent = "silent"
	c := Counts{
		Nodes: map[string]int{
			silent: 0, loopRunning.String(): 0, loopFailing.String(): 0, loopStopped.String(): 0,
		},
		Workers:    map[Worker]int{},
		Terminated: maps.Clone(f.totals.terminated),
		Restarted:  f.totals.restarted, Orphaned: f.totals.orphaned, SandboxErrors: f.totals.sandboxErrors,
		Starts: f.totals.starts.clone(), TotalStarts: f.totals.totalStarts.clone(), Writes: f.totals.writes.clone(),
	}
	for _, n := range f.nodes {
		if n.node == nil {
			continue
		}
		c.Mirrors += len(n.mirrors)
		if !n.hears() {
			c.Nodes[silent]++
		} else {
			c.Nodes[n.loop.String()]++
		}
		for _, r := range n.pods {
			c.add(r)
		}
	}
	return c
}

// add counts a pod.
func (c *Counts) add(r *podRecord) {
	if r.former() || r.state == workerNew && !r.heeds() {
		return // its kubelet does not know of it
	}
	desired := r.isDesired()
	if desired {
		*c.Desired.of(r.pod)++
		if r.state < workerTerminated {
			*c.Active.of(r.pod)++
		}
	}
	if r.state == workerNew && !isStatic(r.pod) {
		return
	}
	worker := Worker{Lifecycle: r.lifecycle(), Config: ConfigStateOrphan, Static: isStatic(r.pod)}
	switch r.basis {
	case basisNone:
		return
	case basisRuntime:
		worker.Config, worker.Static = ConfigStateRuntimeOnly, false
	case basisConfig:
		if desired {
			worker.Config = ConfigStateDesired
		}
	}
	c.Workers[worker]++
}

// isDesired reports whether a kubelet is told to run a pod.
func (r *podRecord) isDesired() bool {
	if isStatic(r.pod) {
		return r.node.wants(r.pod)
	}
	return r.back != nil || r.api != apiGone || !r.orphan && r.basis != basisRuntime
}

// lifecycle returns how far the end of a pod is.
func (r *podRecord) lifecycle() Lifecycle {
	switch r.state {
	case workerTerminating:
		return LifecycleTerminating
	case workerTerminated, workerFinished:
		return LifecycleTerminated
	default:
		return LifecycleSync
	}
}

// measure counts the first start of a pod when the API shows that it runs.
func (f *Fleet) measure(now time.Time, r *podRecord) {
	switch {
	case r.startup == startupCounted:
	case hasNoStart(r.pod):
		r.startup = startupCounted
	case r.startup == startupWritten && allRun(&r.pod.Status):
		r.startup = startupCounted
		f.totals.totalStarts.observe(now.Sub(r.pod.CreationTimestamp.Time))
	}
}

// Termination is a way in which a container has ended.
type Termination struct {
	Type cri.ContainerType
	// Code and Reason are those that the status of its pod shows.
	Code   int32
	Reason string
}

// BySource are pods by where they come from.
type BySource struct{ API, Static int }

// of returns the number to which a pod adds.
func (s *BySource) of(pod *corev1.Pod) *int {
	if isStatic(pod) {
		return &s.Static
	}
	return &s.API
}

// totals are numbers that only grow, since the fleet was made.
type totals struct {
	terminated map[Termination]int // nil before the first
	restarted  BySource
	orphaned   int
	// sandboxErrors are sandboxes that could not be created.
	sandboxErrors int

	starts, totalStarts, writes Durations
}

func newTotals() totals {
	return totals{starts: newStartDurations(), totalStarts: newStartDurations(), writes: newWriteDurations()}
}

// countEnds counts the containers that a status shows as ended, and the one
// before it did not.
func (t *totals) countEnds(before, status *corev1.PodStatus) {
	t.countEndsOf(cri.ContainerTypeInit, before.InitContainerStatuses, status.InitContainerStatuses)
	t.countEndsOf(cri.ContainerTypeMain, before.ContainerStatuses, status.ContainerStatuses)
}

func (t *totals) countEndsOf(kind cri.ContainerType, before, statuses []corev1.ContainerStatus) {
	for i := range statuses {
		ended := statuses[i].State.Terminated
		if ended == nil {
			continue
		}
		if was := containerStatus(before, statuses[i].Name); was != nil && was.State.Terminated != nil {
			continue
		}
		if t.terminated == nil {
			t.terminated = map[Termination]int{}
		}
		t.terminated[Termination{kind, ended.ExitCode, ended.Reason}]++
	}
}

// Durations counts durations by the bucket that they are in.
type Durations struct {
	// Bounds are the upper bounds of the buckets, in seconds. They are only read.
	Bounds []float64
	// Buckets are how many are within each bound and not within the one before.
	// Those that are longer than all bounds are in none.
	Buckets []uint64
	// Count is how many there are, and Sum is that of their seconds.
	Count uint64
	Sum   float64
}

// observe adds a duration.
func (d *Durations) observe(took time.Duration) {
	seconds := took.Seconds()
	if i, _ := slices.BinarySearch(d.Bounds, seconds); i < len(d.Bounds) {
		d.Buckets[i]++
	}
	d.Count++
	d.Sum += seconds
}

// clone returns what is counted now.
func (d *Durations) clone() Durations {
	return Durations{Bounds: d.Bounds, Buckets: slices.Clone(d.Buckets), Count: d.Count, Sum: d.Sum}
}

func newDurations(bounds ...float64) Durations {
	return Durations{Bounds: bounds, Buckets: make([]uint64, len(bounds))}
}

// newStartDurations returns those of starts of pods. Source of the bounds:
// pkg/kubelet/metrics, v1.37.1.
func newStartDurations() Durations {
	return newDurations(0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600,
		900, 1200, 1800, 2700, 3600)
}

// newWriteDurations returns those of writes of statuses. The source is the
// same.
func newWriteDurations() Durations {
	return newDurations(0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60)
}

// startup is how far a pod is in its first start, of which the time since its
// creation is counted:
//
//	         written, with          the API
//	measured ── all running ──► written ── shows it ──► counted
//	   └──────── its phase is final, or it is unschedulable ──▲
//
// A pod that had begun before its kubelet did is not measured. Source:
// pod_startup_latency_tracker.go, v1.37.1. If the watch of a kubelet is faster
// than the answer to its write, it counts with the next change, maybe never.
type startup uint8

const (
	startupCounted startup = iota
	startupMeasured
	startupWritten
)

// String returns the name of the state.
func (s startup) String() string { return [...]string{"counted", "measured", "written"}[s] }

// newStartup returns the state of a pod that its kubelet sees for the first
// time.
func newStartup(pod *corev1.Pod) startup {
	if isStatic(pod) || pod.Status.StartTime != nil || hasNoStart(pod) {
		return startupCounted
	}
	return startupMeasured
}

// hasNoStart reports whether the start of a pod is not measured.
func hasNoStart(pod *corev1.Pod) bool {
	scheduled := findCondition(&pod.Status, corev1.PodScheduled)
	return isTerminal(pod.Status.Phase) || scheduled != nil && scheduled.Status == corev1.ConditionFalse
}

// allRun reports whether a status shows all main containers running.
func allRun(status *corev1.PodStatus) bool {
	for i := range status.ContainerStatuses {
		if status.ContainerStatuses[i].State.Running == nil {
			return false
		}
	}
	return true
}
