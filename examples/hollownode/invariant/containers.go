package invariant

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ended checks that the containers of a pod have ended before its kubelet says
// so, and that none starts after it.
func (c *checker) ended(l *life) {
	for _, change := range l.changes {
		before, after := change.pods()
		if change.By == nil || before == nil {
			continue
		}
		what := "removed"
		switch {
		case after == nil:
		case !final(before.Status.Phase) && final(after.Status.Phase) && !l.finalByOthers(change):
			what = "shown as " + string(after.Status.Phase)
		default:
			continue
		}
		for _, run := range l.runs {
			if run.runsAt(change.At) {
				c.violate(EndedFirst, change.At, "%s is %s while %s runs", l, what, run.ID)
			}
			if run.Started.After(change.At) && !run.Restored {
				c.violate(StaysEnded, run.Started, "%s starts, and %s was %s at %s", run.ID, l, what, clock(change.At))
			}
		}
	}
}

// deleted checks that nothing of a pod that is deleted is decided to start, and
// that its end is shown before it is removed. A kubelet of a node that works
// knows of the deletion soon. What its runtime does by then, a pull for
// example, goes on.
func (c *checker) deleted(l *life) {
	for _, change := range l.changes {
		before, after := change.pods()
		switch {
		case before == nil:
			continue
		case change.By != nil && after == nil:
			c.endShown(l, change, before)
			continue
		case change.By != nil, after != nil && after.DeletionTimestamp == nil:
			continue
		}
		known := change.At.Add(callsWithin)
		for _, run := range l.runs {
			knew := func(s span) bool { return !s.from.After(change.At) && s.to.After(run.Planned) }
			if !run.Restored && run.Planned.After(known) && slices.ContainsFunc(c.undisturbed(l.spec.Spec.NodeName), knew) {
				c.violate(StaysDeleted, run.Planned, "%s is to start, and %s was deleted at %s", run.ID, l, clock(change.At))
			}
		}
	}
}

// endShown checks that a pod that its kubelet removes is shown as one that has
// ended. Otherwise nothing tells how it has ended.
func (c *checker) endShown(l *life, change *Change, before *corev1.Pod) {
	if !final(before.Status.Phase) {
		c.violate(EndShown, change.At, "%s is removed, and is shown as %s", l, before.Status.Phase)
	}
	for _, s := range slices.Concat(before.Status.InitContainerStatuses, before.Status.ContainerStatuses) {
		if s.State.Running != nil {
			c.violate(EndShown, change.At, "%s is removed, and %s is shown as running", l, s.ContainerID)
		}
	}
}

// phaseTrue checks the phase of a pod that has ended by itself: nothing has
// rejected it, deleted it, or ended its time.
func (c *checker) phaseTrue(l *life) {
	for _, change := range l.changes {
		before, after := change.pods()
		if change.By == nil || before == nil || after == nil || after.DeletionTimestamp != nil ||
			final(before.Status.Phase) || !final(after.Status.Phase) || after.Status.Reason != "" ||
			l.finalByOthers(change) {
			continue
		}
		failed := l.failed(change.At)
		if succeeded := after.Status.Phase == corev1.PodSucceeded; succeeded == (failed != "") {
			if failed == "" {
				failed = "all its containers have ended well"
			}
			c.violate(PhaseTrue, change.At, "%s is shown as %s, and %s", l, after.Status.Phase, failed)
		}
	}
}

// failed returns which container of a pod has not ended well at a time, or "".
func (l *life) failed(at time.Time) string {
	for _, spec := range slices.Concat(l.spec.Spec.InitContainers, l.spec.Spec.Containers) {
		if isSidecar(&spec) {
			continue
		}
		var last *Run
		for _, run := range l.runsOf(spec.Name) {
			if !run.Started.After(at) {
				last = run
			}
		}
		switch {
		case last == nil || last.Ended.IsZero() || last.Ended.After(at):
			return spec.Name + " has not ended"
		case last.Lost || last.Code != 0:
			return last.ID + " has failed"
		}
	}
	return ""
}

// finalByOthers reports whether another client has made the phase of a pod
// final before a change. Then its kubelet has not chosen it.
func (l *life) finalByOthers(change *Change) bool {
	for _, other := range l.changes {
		_, after := other.pods()
		if other.Version < change.Version && other.By == nil && after != nil && final(after.Status.Phase) {
			return true
		}
	}
	return false
}

// container checks the runs of one container.
func (c *checker) container(l *life, spec *corev1.Container, init bool) {
	runs := l.runsOf(spec.Name)
	loop := crashLoop{checker: c, life: l}
	for i, run := range runs {
		for _, next := range runs[i+1:] {
			if next.Runtime == run.Runtime && !next.Started.IsZero() && run.runsAt(next.Started) {
				c.violate(OneRun, next.Started, "%s of %s starts while %s runs", next.ID, l, run.ID)
			}
		}
		if i == 0 || runs[i-1].Runtime != run.Runtime || run.Restored {
			loop.restarts = 0
			continue
		}
		if reason := unwanted(l.spec, spec, init, runs[i-1], run); reason != "" {
			c.violate(WithinPolicy, run.begun(), "%s of %s is a restart, and %s", run.ID, l, reason)
		}
		loop.restart(runs[i-1], run)
	}
}

// begun returns when a run was started, or has failed to.
func (r *Run) begun() time.Time {
	if r.Started.IsZero() {
		return r.Ended
	}
	return r.Started
}

// unwanted returns why a restart is against the policy, or "".
func unwanted(pod *corev1.Pod, spec *corev1.Container, init bool, before, run *Run) string {
	succeeded := before.Code == 0 && !before.Lost && before.Stopped.IsZero()
	switch {
	case isSidecar(spec) || run.Image != before.Image:
		return ""
	case pod.Spec.RestartPolicy == corev1.RestartPolicyNever:
		return "its pod restarts nothing"
	case init && succeeded && run.Sandbox == before.Sandbox:
		return "it had succeeded in this sandbox"
	case !init && succeeded && pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure:
		return "it had succeeded"
	}
	return ""
}

// The back-off of a crash loop. Source: the API's documentation of pods.
const (
	firstBackOff   = 10 * time.Second
	longestBackOff = 300 * time.Second
	// calm is how long a container must have run so that the next crash is the
	// first.
	calm = 10 * time.Minute
)

// crashLoop follows the restarts of a container.
type crashLoop struct {
	*checker

	life     *life
	restarts int // since the last calm
	last     time.Time
}

// restart checks how long a restart has waited. The first one is at once.
func (l *crashLoop) restart(before, run *Run) {
	at := run.Planned
	if run.Image != before.Image || run.Sandbox != before.Sandbox {
		// It is another container, whose first run this is.
		l.restarts, l.last = 0, at
		return
	}
	if l.started(run.Node, at).After(l.last) || before.Ended.Sub(l.last) > calm {
		l.restarts = 0
	}
	if !before.Stopped.IsZero() {
		// It was stopped and started in one go. It waited for a crash before that.
		l.last = at
		return
	}
	if l.restarts > 0 {
		wait := min(firstBackOff<<(l.restarts-1), longestBackOff)
		if waited := at.Sub(before.Ended); waited < wait {
			l.violate(BackedOff, at, "%s of %s waits %v after restart %d, want %v", run.ID, l.life, waited, l.restarts, wait)
		}
	}
	l.last = at
	l.restarts = min(l.restarts+1, 10)
}
