package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// defaultProbePeriod is the period of a probe that has none.
const defaultProbePeriod = 10 * time.Second

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
	r.probes[key] = newProbe(key.Kind)
	first := c.StartedAt.Add(time.Duration(spec.InitialDelaySeconds) * time.Second)
	if first.Before(now) {
		first = now
	}
	f.scheduleKey(r, dueKey{pod: r.pod.UID, kind: dueProbe, probe: key}, first)
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
	if started || key.Kind == cri.ProbeStartup {
		ok := f.config.Runtime.Probe(now, r.pod.UID, key.ContainerID, key.Kind)
		changed = p.observe(key.Kind, spec, ok)
	}
	if !p.held {
		period := time.Duration(spec.PeriodSeconds) * time.Second
		if period <= 0 {
			period = defaultProbePeriod
		}
		f.scheduleKey(r, dueKey{pod: r.pod.UID, kind: dueProbe, probe: key}, now.Add(period))
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
