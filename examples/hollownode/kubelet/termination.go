package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// stopAll returns how to stop all containers of a pod. Sidecars stop after the
// main containers, the last first. Containers that the pod does not name stop
// as main ones do, for those of a pod without an object.
func stopAll(pod *corev1.Pod, observed *cri.Pod, grace time.Duration) []cri.Stop {
	ids := map[string][]string{} // of running containers, by name
	for i := range observed.Containers {
		if c := &observed.Containers[i]; c.State != cri.StateExited && c.State != cri.StateCreated {
			ids[c.Name] = append(ids[c.Name], c.ID)
		}
	}
	var main, later []string
	var stops []cri.Stop
	add := func(name string, after []string) {
		for _, id := range ids[name] {
			stops = append(stops, cri.Stop{ID: id, Grace: grace, After: after})
		}
	}
	for i := range observed.Containers {
		if c := &observed.Containers[i]; !names(pod, c.Name) && len(ids[c.Name]) > 0 {
			add(c.Name, nil)
			main = append(main, ids[c.Name]...)
			delete(ids, c.Name)
		}
	}
	for i := range pod.Spec.Containers {
		name := pod.Spec.Containers[i].Name
		add(name, nil)
		main = append(main, ids[name]...)
	}
	for i := len(pod.Spec.InitContainers) - 1; i >= 0; i-- {
		c := &pod.Spec.InitContainers[i]
		if !isSidecar(c) {
			add(c.Name, nil)
			continue
		}
		add(c.Name, append(append([]string(nil), main...), later...))
		if len(ids[c.Name]) > 0 {
			later = ids[c.Name]
		}
	}
	return stops
}

// names reports whether a pod has a container of a name.
func names(pod *corev1.Pod, name string) bool {
	named := func(c corev1.Container) bool { return c.Name == name }
	return slices.ContainsFunc(pod.Spec.Containers, named) || slices.ContainsFunc(pod.Spec.InitContainers, named)
}

// shortestGrace is the least time in which a pod ends. Source: pod_workers.go,
// v1.37.1.
const shortestGrace = int64(1)

// effectiveGrace returns the seconds in which a pod ends. Current is what held
// so far, zero if it was not ending. Override is nil unless another part of the
// node wants it sooner. A grace period only shrinks.
func effectiveGrace(current int64, pod *corev1.Pod, override *int64) int64 {
	grace := current
	chosen := false
	for _, wanted := range []*int64{pod.DeletionGracePeriodSeconds, override} {
		if wanted != nil && (grace == 0 || *wanted < grace) {
			grace, chosen = *wanted, true
		}
	}
	if !chosen && grace == 0 && pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	return max(grace, shortestGrace)
}

// containerGrace returns the time in which one container of a pod ends that is
// not ending itself.
func containerGrace(pod *corev1.Pod, c *corev1.Container, reason KillReason) time.Duration {
	seconds := int64(2)
	var p *corev1.Probe
	switch {
	case pod.DeletionGracePeriodSeconds != nil:
		seconds = *pod.DeletionGracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		seconds = *pod.Spec.TerminationGracePeriodSeconds
		switch reason {
		case KillStartup:
			p = c.StartupProbe
		case KillLiveness:
			p = c.LivenessProbe
		}
	}
	if p != nil && p.TerminationGracePeriodSeconds != nil {
		seconds = *p.TerminationGracePeriodSeconds
	}
	return time.Duration(seconds) * time.Second
}

// syncTerminating stops the containers of a pod.
func (f *Fleet) syncTerminating(now time.Time, r *podRecord) {
	f.watchProbes(now, r)
	f.publish(now, r, r.status(now, false))
	var steps []cri.Step
	if stops := stopAll(r.pod, &r.observed, time.Duration(r.grace)*time.Second); len(stops) > 0 {
		f.tellStops(r, stops, nil)
		steps = append(steps, cri.Step{Kind: cri.StepStop, Stops: stops})
	}
	if r.observed.SandboxReady() {
		steps = append(steps, cri.Step{Kind: cri.StepStopSandboxes})
	}
	if len(steps) > 0 {
		f.begin(now, r, steps)
		return
	}
	f.publish(now, r, r.status(now, true))
	f.move(now, r, workerTerminated)
}

// syncTerminated waits until the volumes of a pod are gone, and ends it.
func (f *Fleet) syncTerminated(now time.Time, r *podRecord) {
	if !f.unmounted(now, r) {
		return
	}
	f.publish(now, r, finalStatus(now, r.pod, r.publication.current(r.pod)))
	f.move(now, r, workerFinished)
}

// remove takes the end of a pod in the API.
func (f *Fleet) remove(now time.Time, r *podRecord) {
	r.leave(apiGone)
	if r.former() || !r.heeds() {
		return
	}
	switch r.state {
	case workerNew:
		if r.node.node != nil {
			f.inherit(now, r)
		}
		if len(r.observed.Containers) > 0 || r.observed.Busy {
			f.move(now, r, workerTerminating)
			return
		}
		f.move(now, r, workerFinished)
	case workerSyncing:
		f.move(now, r, workerTerminating)
	case workerFinished:
		f.clean(now, r)
		f.schedule(r, duePurge, now.Add(housekeepingPeriod))
	}
}

// clean has the runtime forget a pod that has ended, when the API shows its end
// or has no such pod. A kubelet that restarts before that learns it from the
// runtime, or the pod would run again. The API can lose the mirror of a static
// pod, so the runtime keeps that pod as long as its manifest is there.
func (f *Fleet) clean(now time.Time, r *podRecord) {
	if r.state == workerFinished && (r.api == apiGone || !isStatic(r.pod) && r.publication.shows(r.pod)) {
		f.config.Runtime.Remove(now, r.pod.UID)
	}
}

// purge forgets a pod.
func (f *Fleet) purge(now time.Time, r *podRecord) {
	f.dropWork(r)
	delete(f.pods, r.pod.UID)
	n := r.node
	if i := slices.Index(n.pods, r); i >= 0 {
		n.pods = slices.Delete(n.pods, i, i+1)
		if i < n.visited {
			n.visited--
		}
	}
	f.reconfigure(now, r)
	if n.node == nil && n.visited == noRound {
		f.dropNode(n)
	}
}

// forget forgets a pod that has ended. One that is back begins again, as does a
// static pod that is configured again.
func (f *Fleet) forget(now time.Time, r *podRecord) {
	f.purge(now, r)
	if r.back != nil {
		f.add(now, r.back)
	}
}
