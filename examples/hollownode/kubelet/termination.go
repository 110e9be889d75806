package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// termination is the end of a pod: its containers stop, its volumes go, and it
// is forgotten.
type termination struct {
	worker *podWorker
	// grace is the seconds in which the pod ends, zero before it is terminating.
	grace int64
	// back is the object of a pod that came back to the API while the pod was
	// ending, because it had gone from there. It begins again after its end.
	back *corev1.Pod
}

// shorten reports whether the pod is now to end in less time than before.
func (t *termination) shorten() bool {
	grace := effectiveGrace(t.grace, t.worker.pod, nil)
	shorter := grace < t.grace
	t.grace = grace
	return shorter
}

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

// stop stops the containers of a pod.
func (t *termination) stop(now time.Time) {
	w := t.worker
	w.prober.watch(now)
	w.publish(now, w.status(now, false))
	var steps []cri.Step
	if stops := stopAll(w.pod, &w.observed, time.Duration(t.grace)*time.Second); len(stops) > 0 {
		w.node.fleet.recorder.tellStops(w, stops, nil)
		steps = append(steps, cri.Step{Kind: cri.StepStop, Stops: stops})
	}
	if w.observed.SandboxReady() {
		steps = append(steps, cri.Step{Kind: cri.StepStopSandboxes})
	}
	if len(steps) > 0 {
		w.begin(now, steps)
		return
	}
	w.publish(now, w.status(now, true))
	w.move(now, workerTerminated)
}

// finish waits until the volumes of a pod are gone, and ends it.
func (t *termination) finish(now time.Time) {
	w := t.worker
	if !w.unmounted(now) {
		return
	}
	w.publish(now, finalStatus(now, w.pod, w.publication.current(w.pod)))
	w.move(now, workerFinished)
}

// remove takes the end of a pod in the API.
func (t *termination) remove(now time.Time) {
	w := t.worker
	w.leave(apiGone)
	if w.former() || !w.heeds() {
		return
	}
	switch w.state {
	case workerNew:
		if w.node.object != nil {
			w.node.pleg.inherit(now, w)
		}
		if len(w.observed.Containers) > 0 || w.observed.Busy {
			w.move(now, workerTerminating)
			return
		}
		w.move(now, workerFinished)
	case workerSyncing:
		w.move(now, workerTerminating)
	case workerFinished:
		t.clean(now)
		w.schedule(duePurge, now.Add(housekeepingPeriod))
	}
}

// clean has the runtime forget a pod that has ended, when the API shows its end
// or has no such pod. A kubelet that restarts before that learns it from the
// runtime, or the pod would run again. The API can lose the mirror of a static
// pod, so the runtime keeps that pod as long as its manifest is there.
func (t *termination) clean(now time.Time) {
	w := t.worker
	shown := w.api == apiGone || !isStatic(w.pod) && w.publication.shows(w.pod)
	if w.state == workerFinished && shown {
		w.node.fleet.config.Runtime.Remove(now, w.pod.UID)
	}
}

// purge forgets a pod.
func (t *termination) purge(now time.Time) {
	w := t.worker
	w.dropWork()
	k := w.node
	delete(k.fleet.pods, w.pod.UID)
	if i := slices.Index(k.syncLoop.pods, w); i >= 0 {
		k.syncLoop.pods = slices.Delete(k.syncLoop.pods, i, i+1)
		if i < k.housekeeping.visited {
			k.housekeeping.visited--
		}
	}
	k.configuration.reconfigure(now, w)
	k.housekeeping.dropNode()
}

// forget forgets a pod that has ended. One that is back begins again, as does a
// static pod that is configured again.
func (t *termination) forget(now time.Time) {
	t.purge(now)
	if t.back != nil {
		t.worker.node.syncLoop.add(now, t.back)
	}
}
