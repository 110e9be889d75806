package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// defaultProbePeriod is the period of a probe that has none.
const defaultProbePeriod = 10 * time.Second

// restartMargin is how long before the kubelet a container must have started to
// be one of before. Source: kubeletRestartGracePeriod in pkg/kubelet/prober,
// v1.37.1.
const restartMargin = 10 * time.Second

// watchProbes begins the probes of containers that have come, and ends those of
// containers that have gone.
func (f *Fleet) watchProbes(now time.Time, r *podRecord) {
	running := map[string]bool{}
	for i := range r.observed.Containers {
		c := &r.observed.Containers[i]
		if c.State != cri.StateRunning {
			continue
		}
		running[c.ID] = true
		spec := containerSpec(r.pod, c.Name)
		for _, kind := range []cri.ProbeKind{cri.ProbeStartup, cri.ProbeReadiness, cri.ProbeLiveness} {
			f.watchProbe(now, r, c, probeSpec(spec, kind), ProbeKey{c.ID, kind})
		}
	}
	for key := range r.probes {
		if !running[key.ContainerID] {
			delete(r.probes, key)
			f.queue.Remove(dueKey{pod: r.pod.UID, kind: dueProbe, probe: key})
		}
	}
}

// watchProbe begins a probe of a container that has none yet.
func (f *Fleet) watchProbe(now time.Time, r *podRecord, c *cri.Container, spec *corev1.Probe, key ProbeKey) {
	if spec == nil || r.probes[key] != nil {
		return
	}
	if r.probes == nil {
		r.probes = map[ProbeKey]*probe{}
	}
	p := newProbe(key.Kind)
	first := now
	if c.StartedAt.Before(r.node.started.Add(-restartMargin)) {
		p = keptProbe(key.Kind, r.hasStarted(key.ContainerID))
		first = f.spread(now, probePeriod(spec))
	}
	r.probes[key] = p
	if p.held || r.state != workerSyncing {
		return
	}
	if delayed := c.StartedAt.Add(time.Duration(spec.InitialDelaySeconds) * time.Second); first.Before(delayed) {
		first = delayed
	}
	f.scheduleKey(r, dueKey{pod: r.pod.UID, kind: dueProbe, probe: key}, first)
}

// spread returns a time within a period, so that what many nodes or probes do
// in each period does not fall together.
func (f *Fleet) spread(now time.Time, period time.Duration) time.Time {
	if f.config.Rand != nil {
		now = now.Add(time.Duration(f.config.Rand() * float64(period)))
	}
	return now
}

// hasStarted reports whether the status of a pod shows a container as started.
func (r *podRecord) hasStarted(id string) bool {
	status := r.publication.current(r.pod)
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

// runProbe runs a probe, and syncs the pod if its result says so. Other probes
// wait for the startup probe. A pod that ends is only asked whether it is
// ready.
func (f *Fleet) runProbe(now time.Time, r *podRecord, key ProbeKey) {
	p := r.probes[key]
	c := runningContainer(&r.observed, key.ContainerID)
	if p == nil || c == nil || p.held || r.state != workerSyncing && key.Kind != cri.ProbeReadiness {
		return
	}
	container := containerSpec(r.pod, c.Name)
	spec := probeSpec(container, key.Kind)
	if spec == nil {
		return
	}
	started := container.StartupProbe == nil ||
		r.probes[ProbeKey{key.ContainerID, cri.ProbeStartup}].succeeded()
	changed := false
	if answers := r.node.loop == loopRunning; answers && (started || key.Kind == cri.ProbeStartup) {
		ok := f.config.Runtime.Probe(now, r.pod.UID, key.ContainerID, key.Kind)
		changed = p.observe(key.Kind, spec, ok)
		if !ok {
			f.tellUnhealthy(r, c.Name, key.Kind)
		}
	}
	if !p.held {
		f.scheduleKey(r, dueKey{pod: r.pod.UID, kind: dueProbe, probe: key}, now.Add(probePeriod(spec)))
	}
	if changed {
		f.probeChanged(now, r, key)
	}
}

// probeChanged acts on a result. The status shows it at once, also during a
// sync.
func (f *Fleet) probeChanged(now time.Time, r *podRecord, key ProbeKey) {
	if key.Kind == cri.ProbeStartup && r.probes[key].succeeded() {
		for _, kind := range []cri.ProbeKind{cri.ProbeReadiness, cri.ProbeLiveness} {
			other := ProbeKey{key.ContainerID, kind}
			if r.probes[other] != nil {
				f.scheduleKey(r, dueKey{pod: r.pod.UID, kind: dueProbe, probe: other}, now)
			}
		}
	}
	f.publish(now, r, r.status(now, false))
	f.requestSync(now, r)
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
