package invariant

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

const (
	// longestWait is the longest that a container waits for its back-off. A
	// kubelet spreads its syncs, which adds half. A start takes half a minute.
	longestWait = longestBackOff*3/2 + 30*time.Second
	// shownWithin is how long a kubelet may take to show what it does, because it
	// pulls images meanwhile.
	shownWithin = time.Minute
	// quietTime is the last part of a history, in which nothing is written without
	// a reason.
	quietTime = 5 * time.Minute
)

// end checks a pod at the end of the history.
func (c *checker) end(l *life) {
	_, pod := l.changes[len(l.changes)-1].pods()
	for _, run := range l.runs {
		// The runtime is ended with the history.
		if goesOn := run.Lost && run.Ended.Equal(c.history.End); goesOn && (pod == nil || final(pod.Status.Phase)) {
			c.violate(Finished, c.history.End, "%s of %s runs on", run.ID, l)
		}
	}
	if pod == nil {
		return
	}
	if pod.DeletionTimestamp != nil {
		c.violate(Finished, c.history.End, "%s is still there, and was deleted at %v", l, pod.DeletionTimestamp)
		return
	}
	if c.hangs(l) {
		return
	}
	if !final(pod.Status.Phase) {
		c.progress(l)
	}
	c.statuses(l, pod)
	c.quiet(l)
}

// hangs reports whether a sync of a pod never ends, because a hook does not.
// Nothing more happens to such a pod until it is deleted.
func (c *checker) hangs(l *life) bool {
	for _, run := range l.runs {
		for i := range l.spec.Spec.Containers {
			spec := &l.spec.Spec.Containers[i]
			if spec.Name == run.Name && spec.Lifecycle != nil && c.runsOn(run) &&
				takes(l.spec, spec.Name, postStartTime) == never {
				return true
			}
		}
	}
	return false
}

// runsOn reports whether a run goes on until the history ends.
func (c *checker) runsOn(r *Run) bool {
	return !r.Started.IsZero() && (r.Ended.IsZero() || r.Lost && r.Ended.Equal(c.history.End))
}

// progress checks that the containers of a pod run, as far as they can.
func (c *checker) progress(l *life) {
	var stuck *corev1.Container
	for i := range l.spec.Spec.InitContainers {
		spec := &l.spec.Spec.InitContainers[i]
		switch c.progressOf(l, spec, true) {
		case hasPassed:
			continue
		case isStuck:
			stuck = spec
		case isMoving:
		}
		if stuck != nil {
			c.violate(Started, c.history.End, "%s of %s does not go on", stuck.Name, l)
		}
		return
	}
	for i := range l.spec.Spec.Containers {
		spec := &l.spec.Spec.Containers[i]
		if c.progressOf(l, spec, false) == isStuck {
			c.violate(Started, c.history.End, "%s of %s does not go on", spec.Name, l)
		}
	}
}

type progress string

const (
	hasPassed progress = "HasPassed"
	isMoving  progress = "IsMoving"
	isStuck   progress = "IsStuck"
)

// progressOf returns how far a container is in the end.
func (c *checker) progressOf(l *life, spec *corev1.Container, init bool) progress {
	runs := l.runsOf(spec.Name)
	waits := c.waits(l, spec)
	if len(runs) == 0 {
		if waits {
			return isMoving
		}
		return isStuck
	}
	last := runs[len(runs)-1]
	recent := c.history.End.Sub(last.Ended) < longestWait
	switch {
	case c.runsOn(last) && (!init || isSidecar(spec) && l.passed(spec, last, c.history.End)):
		return hasPassed
	case c.runsOn(last), recent, waits:
		return isMoving
	case init && !isSidecar(spec) && last.Code == 0:
		return hasPassed
	case !init && last.Code == 0 && l.spec.Spec.RestartPolicy != corev1.RestartPolicyAlways,
		!init && l.spec.Spec.RestartPolicy == corev1.RestartPolicyNever:
		return hasPassed
	}
	return isStuck
}

// waits reports whether a container never begins, or not again.
func (c *checker) waits(l *life, spec *corev1.Container) bool {
	return pullsFail(l.spec, spec.Image) || behaviour(l.spec, "", mountFailures) == countOfAll || c.hasNoSecondSandbox(l)
}

// pullsFail reports whether some container of a pod never gets an image. The
// back-off is that of the image, so another container waits for it too, maybe
// for longer than its own back-off and one pull take. Source: EnsureImageExists
// in pkg/kubelet/images, v1.37.1.
func pullsFail(pod *corev1.Pod, image string) bool {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Image == image && behaviour(pod, list[i].Name, pullFailures) == countOfAll {
				return true
			}
		}
	}
	return false
}

// hasNoSecondSandbox reports whether a pod that restarts nothing has lost its
// sandbox in a reboot, after one of its containers had begun. The kubelet makes
// no other one for it, also if another container has never begun. Source:
// computePodActions in pkg/kubelet/kuberuntime, v1.37.1.
func (c *checker) hasNoSecondSandbox(l *life) bool {
	if l.spec.Spec.RestartPolicy != corev1.RestartPolicyNever {
		return false
	}
	return slices.ContainsFunc(c.history.Starts, func(s Start) bool {
		return s.Reboot && s.Node == l.spec.Spec.NodeName && slices.ContainsFunc(l.runs, func(r *Run) bool {
			return !r.Started.IsZero() && r.Started.Before(s.At)
		})
	})
}

// statuses checks that the status of a pod says what runs.
func (c *checker) statuses(l *life, pod *corev1.Pod) {
	if c.history.End.Sub(l.lastEvent(c)) < shownWithin {
		return
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			s := &list[i]
			runs := l.runsOf(s.Name)
			var running *Run
			if len(runs) > 0 && c.runsOn(runs[len(runs)-1]) {
				running = runs[len(runs)-1]
			}
			switch {
			case running != nil && (s.State.Running == nil || s.ContainerID != running.ID):
				c.violate(StatusConverged, c.history.End, "%s of %s runs, and is shown as %v", running.ID, l, s.State)
			case running == nil && s.State.Running != nil:
				c.violate(StatusConverged, c.history.End, "%s of %s does not run, and is shown so", s.ContainerID, l)
			}
			// The containers of a pod that has ended are removed, also when its last
			// status has not arrived.
			if len(runs) > 0 && !final(pod.Status.Phase) && s.RestartCount < runs[len(runs)-1].Attempt {
				c.violate(StatusConverged, c.history.End, "%s of %s had %d restarts, and is shown with %d", s.Name, l,
					runs[len(runs)-1].Attempt, s.RestartCount)
			}
		}
	}
}

// lastEvent returns when something has happened to a pod's containers last.
func (l *life) lastEvent(c *checker) time.Time {
	last := l.changes[0].At
	for _, run := range l.runs {
		for _, at := range []time.Time{run.Started, run.Ended} {
			if at.After(last) && !at.Equal(c.history.End) {
				last = at
			}
		}
	}
	return last
}

// quiet checks that nothing is written of a pod to which nothing happens.
func (c *checker) quiet(l *life) {
	from := c.history.End.Add(-quietTime)
	for _, list := range [][]corev1.Container{l.spec.Spec.InitContainers, l.spec.Spec.Containers} {
		for i := range list {
			if behaviour(l.spec, list[i].Name, pullFailures) == countOfAll {
				return // each attempt to pull shows
			}
		}
	}
	if l.lastEvent(c).After(from.Add(-3 * time.Minute)) {
		return
	}
	for _, call := range c.history.Calls {
		if call.Pod == l.uid && call.Decided.After(from) {
			c.violate(Quiet, call.Decided, "%s is written, and nothing has happened to it", l)
			return
		}
	}
}

// lastNodes returns the nodes that are there in the end, by name.
func (c *checker) lastNodes() map[string]*corev1.Node {
	last := map[string]*corev1.Node{}
	for _, change := range c.history.Changes {
		if change.Kind != network.Nodes {
			continue
		}
		if node, ok := change.After.(*corev1.Node); ok {
			last[node.Name] = node
		} else {
			delete(last, change.Before.GetName())
		}
	}
	return last
}

// nodes checks that nodes are shown as ready in the end.
func (c *checker) nodes() {
	last := c.lastNodes()
	for _, change := range c.history.Changes {
		node, ok := change.After.(*corev1.Node)
		if !ok || last[node.Name] != node {
			continue
		}
		ready := false
		for _, condition := range node.Status.Conditions {
			ready = ready || condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
		}
		if !ready {
			c.violate(StatusConverged, c.history.End, "%s works, and is shown with %v", node.Name, node.Status.Conditions)
		}
	}
}
