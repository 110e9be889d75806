package kubelet

import corev1 "k8s.io/api/core/v1"

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

	// Restarted are pods that came back while they were ending, and began again.
	Restarted BySource
	// Orphaned are the pods that only the runtime had running.
	Orphaned int
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
		Workers:   map[Worker]int{},
		Restarted: f.totals.restarted, Orphaned: f.totals.orphaned,
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
	restarted BySource
	orphaned  int
}
