package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// ProbeResult is what the probes of a container have shown so far. The zero
// value means that no probe has run.
type ProbeResult string

const (
	// ProbeKept: it has not run since the kubelet has restarted. Until then the
	// container is as ready as its pod is in the API.
	ProbeKept ProbeResult = "Kept"
	// ProbeUnknown: the startup probe has not decided yet.
	ProbeUnknown ProbeResult = "Unknown"
	// ProbeSuccess: the last probes succeeded, as many as the threshold.
	ProbeSuccess ProbeResult = "Success"
	// ProbeFailure: the last probes failed, as many as the threshold.
	ProbeFailure ProbeResult = "Failure"
)

// ProbeKey identifies the probes of one kind of one run of a container.
type ProbeKey struct {
	ContainerID string
	Kind        cri.ProbeKind
}

// Probes are the results by key. A missing one has not run.
type Probes map[ProbeKey]ProbeResult

// prober runs the probes of a pod's containers.
type prober struct {
	worker *podWorker
	// results are by key, also of probes that have decided. It is nil without any.
	results map[ProbeKey]*probe
}

// probe counts the answers of one probe of one run of a container.
type probe struct {
	result ProbeResult
	last   bool // the last answer
	run    int32
	// held probes have decided. The next run of the container has a new one.
	held bool
}

// newProbe returns a probe without answers. Until the first decision a
// container is live and not ready.
func newProbe(kind cri.ProbeKind) *probe {
	switch kind {
	case cri.ProbeLiveness:
		return &probe{result: ProbeSuccess}
	case cri.ProbeReadiness:
		return &probe{result: ProbeFailure}
	default:
		return &probe{result: ProbeUnknown}
	}
}

// keptProbe returns the probe of a container that the kubelet has found running
// when it restarted. One that had started is not asked again whether it has.
func keptProbe(kind cri.ProbeKind, started bool) *probe {
	switch {
	case kind == cri.ProbeReadiness:
		return &probe{result: ProbeKept}
	case kind == cri.ProbeStartup && started:
		return &probe{result: ProbeSuccess, held: true}
	default:
		return newProbe(kind)
	}
}

// observe counts an answer, and reports whether it changes the result.
func (p *probe) observe(kind cri.ProbeKind, spec *corev1.Probe, ok bool) bool {
	if p.run > 0 && p.last == ok {
		p.run++
	} else {
		p.last, p.run = ok, 1
	}
	result, threshold := ProbeFailure, spec.FailureThreshold
	if threshold <= 0 {
		threshold = 3 // the API's default
	}
	if ok {
		result, threshold = ProbeSuccess, max(spec.SuccessThreshold, 1)
	}
	if p.run < threshold {
		return false
	}
	if kind == cri.ProbeStartup || kind == cri.ProbeLiveness && !ok {
		p.held, p.run = true, 0
	}
	changed := p.result != result
	p.result = result
	return changed
}

// probeSpec returns the probe of a kind of a container, or nil.
func probeSpec(c *corev1.Container, kind cri.ProbeKind) *corev1.Probe {
	switch kind {
	case cri.ProbeStartup:
		return c.StartupProbe
	case cri.ProbeLiveness:
		return c.LivenessProbe
	case cri.ProbeReadiness:
		return c.ReadinessProbe
	default:
		return nil
	}
}

// defaultProbePeriod is the period of a probe that has none.
const defaultProbePeriod = 10 * time.Second

// restartMargin is how long before the kubelet a container must have started to
// be one of before. Source: kubeletRestartGracePeriod in pkg/kubelet/prober,
// v1.37.1.
const restartMargin = 10 * time.Second

// watch begins the probes of containers that have come, and ends those of
// containers that have gone.
func (p *prober) watch(now time.Time) {
	w := p.worker
	running := map[string]bool{}
	for i := range w.observed.Containers {
		c := &w.observed.Containers[i]
		if c.State != cri.StateRunning {
			continue
		}
		running[c.ID] = true
		spec := containerSpec(w.pod, c.Name)
		for _, kind := range []cri.ProbeKind{cri.ProbeStartup, cri.ProbeReadiness, cri.ProbeLiveness} {
			p.begin(now, c, probeSpec(spec, kind), ProbeKey{c.ID, kind})
		}
	}
	for key := range p.results {
		if !running[key.ContainerID] {
			delete(p.results, key)
			w.node.fleet.queue.Remove(dueKey{pod: w.pod.UID, kind: dueProbe, probe: key})
		}
	}
}

// begin begins a probe of a container that has none yet.
func (p *prober) begin(now time.Time, c *cri.Container, spec *corev1.Probe, key ProbeKey) {
	w := p.worker
	if spec == nil || p.results[key] != nil {
		return
	}
	if p.results == nil {
		p.results = map[ProbeKey]*probe{}
	}
	probe, first := newProbe(key.Kind), now
	if c.StartedAt.Before(w.node.started.Add(-restartMargin)) {
		probe = keptProbe(key.Kind, p.hasStarted(key.ContainerID))
		first = w.node.fleet.spread(now, probePeriod(spec))
	}
	p.results[key] = probe
	if probe.held || w.state != workerSyncing {
		return
	}
	if delayed := c.StartedAt.Add(time.Duration(spec.InitialDelaySeconds) * time.Second); first.Before(delayed) {
		first = delayed
	}
	w.scheduleKey(dueKey{pod: w.pod.UID, kind: dueProbe, probe: key}, first)
}

// hasStarted reports whether the status of a pod shows a container as started.
func (p *prober) hasStarted(id string) bool {
	status := p.worker.publication.current(p.worker.pod)
	for _, list := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range list {
			if c := &list[i]; c.ContainerID == id {
				return c.Started != nil && *c.Started
			}
		}
	}
	return false
}

// probePeriod returns how long a probe waits between two runs.
func probePeriod(spec *corev1.Probe) time.Duration {
	if spec.PeriodSeconds <= 0 {
		return defaultProbePeriod
	}
	return time.Duration(spec.PeriodSeconds) * time.Second
}

// run runs a probe, and syncs the pod if its result says so. Other probes
// wait for the startup probe. A pod that ends is only asked whether it is
// ready.
func (p *prober) run(now time.Time, key ProbeKey) {
	w := p.worker
	probe := p.results[key]
	c := runningContainer(&w.observed, key.ContainerID)
	if probe == nil || c == nil || probe.held || w.state != workerSyncing && key.Kind != cri.ProbeReadiness {
		return
	}
	container := containerSpec(w.pod, c.Name)
	spec := probeSpec(container, key.Kind)
	if spec == nil {
		return
	}
	started := container.StartupProbe == nil ||
		p.results[ProbeKey{key.ContainerID, cri.ProbeStartup}].succeeded()
	changed := false
	if answers := w.node.runtime.loop == loopRunning; answers && (started || key.Kind == cri.ProbeStartup) {
		ok := w.node.fleet.config.Runtime.Probe(now, w.pod.UID, key.ContainerID, key.Kind)
		changed = probe.observe(key.Kind, spec, ok)
		if !ok {
			w.node.fleet.recorder.tellUnhealthy(w, c.Name, key.Kind)
		}
	}
	if !probe.held {
		w.scheduleKey(dueKey{pod: w.pod.UID, kind: dueProbe, probe: key}, now.Add(probePeriod(spec)))
	}
	if changed {
		p.changed(now, key)
	}
}

// changed acts on a result. The status shows it at once, also during a
// sync.
func (p *prober) changed(now time.Time, key ProbeKey) {
	w := p.worker
	if key.Kind == cri.ProbeStartup && p.results[key].succeeded() {
		for _, kind := range []cri.ProbeKind{cri.ProbeReadiness, cri.ProbeLiveness} {
			other := ProbeKey{key.ContainerID, kind}
			if p.results[other] != nil {
				w.scheduleKey(dueKey{pod: w.pod.UID, kind: dueProbe, probe: other}, now)
			}
		}
	}
	w.publish(now, w.status(now, false))
	w.requestSync(now)
}

// succeeded reports whether a probe has succeeded. One that has not begun has
// not.
func (p *probe) succeeded() bool { return p != nil && p.result == ProbeSuccess }

// runningContainer returns the running container of an ID, or nil.
func runningContainer(observed *cri.Pod, id string) *cri.Container {
	for i := range observed.Containers {
		if c := &observed.Containers[i]; c.ID == id && c.State == cri.StateRunning {
			return c
		}
	}
	return nil
}
