package invariant

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// order checks what must have happened before each run of a pod.
func (c *checker) order(l *life, created time.Time) {
	mounted := created.Add(l.mountsFor())
	for _, run := range l.runs {
		if run.Restored {
			continue
		}
		if run.begun().Before(mounted) {
			c.violate(InOrder, run.begun(), "%s of %s starts before its volumes are there at %s", run.ID, l, clock(mounted))
		}
		for i := range l.spec.Spec.InitContainers {
			spec := &l.spec.Spec.InitContainers[i]
			if spec.Name == run.Name {
				break
			}
			passed := func(r *Run) bool { return r.Name == spec.Name && r.sameSandbox(run) && l.passed(spec, r, run.begun()) }
			if !slices.ContainsFunc(l.runs, passed) {
				c.violate(InOrder, run.begun(), "%s of %s starts before %s has let it", run.ID, l, spec.Name)
			}
		}
	}
}

// mountWait is how long a wait for volumes takes that fails. A change of the
// pod makes the next one begin at once. Source: the volume manager of the
// kubelet, v1.37.1.
const mountWait = 2*time.Minute + 3*time.Second

// mountsFor returns how long the volumes of a pod take to be there, at the
// least.
func (l *life) mountsFor() time.Duration {
	text := behaviour(l.spec, "", mountFailures)
	if text == countOfAll {
		return never
	}
	failures, _ := strconv.Atoi(text) // none without the annotation
	return takes(l.spec, "", mountTime) + time.Duration(failures)*mountWait
}

func (r *Run) sameSandbox(other *Run) bool {
	return r.Runtime == other.Runtime && r.Sandbox == other.Sandbox
}

// passed reports whether a run of an init container lets the next one start at
// a time. It has succeeded or, as a sidecar, has started.
func (l *life) passed(spec *corev1.Container, run *Run, at time.Time) bool {
	if !isSidecar(spec) {
		return run.Code == 0 && !run.Ended.IsZero() && !run.Ended.After(at) && !run.Lost
	}
	started := run.Started
	if started.IsZero() {
		return false
	}
	if spec.StartupProbe != nil {
		started = started.Add(takes(l.spec, spec.Name, startupTime))
	}
	return !started.After(at) && (run.Ended.IsZero() || !started.After(run.Ended))
}

// killedCode is the exit code of a container that is killed.
const killedCode = 137

// grace checks that no container of a deleted pod is killed too early. Pods are
// left out whose containers something else may kill.
func (c *checker) grace(l *life) {
	if l.spec.Spec.RestartPolicy != corev1.RestartPolicyAlways || l.spec.Spec.ActiveDeadlineSeconds != nil {
		return
	}
	for _, run := range l.runs {
		if run.Code != killedCode || run.Lost || run.Restored || l.mayBeKilled(run) {
			continue
		}
		if due := l.killable(run.Ended); run.Ended.Before(due) {
			c.violate(GraceKept, run.Ended, "%s of %s is killed before %s", run.ID, l, clock(due))
		}
	}
}

// mayBeKilled reports whether something but a deletion may kill a run.
func (l *life) mayBeKilled(run *Run) bool {
	for _, list := range [][]corev1.Container{l.spec.Spec.InitContainers, l.spec.Spec.Containers} {
		for i := range list {
			c := &list[i]
			if c.Name == run.Name && (c.LivenessProbe != nil || c.StartupProbe != nil || c.Lifecycle != nil) {
				return true
			}
		}
	}
	for _, change := range l.changes {
		_, after := change.pods()
		switch {
		case change.At.After(run.Ended):
			return false
		case after == nil, final(after.Status.Phase), after.Spec.Containers[0].Image != l.spec.Spec.Containers[0].Image:
			return true
		}
	}
	return false
}

// killable returns the earliest time at which the deletions of a pod until then
// let its containers be killed, or zero if there are none.
func (l *life) killable(until time.Time) time.Time {
	var earliest time.Time
	for _, change := range l.changes {
		_, after := change.pods()
		if change.At.After(until) || after == nil || after.DeletionTimestamp == nil {
			continue
		}
		grace := time.Duration(*after.DeletionGracePeriodSeconds) * time.Second
		if at := change.At.Add(grace); earliest.IsZero() || at.Before(earliest) {
			earliest = at
		}
	}
	return earliest
}
