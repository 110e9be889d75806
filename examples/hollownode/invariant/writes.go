package invariant

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// clock is the time of day of a violation.
func clock(at time.Time) string { return at.Format("15:04:05.000") }

// writes checks what kubelets have written of a pod.
func (c *checker) writes(l *life) {
	for _, change := range l.changes {
		if change.By == nil {
			continue
		}
		before, after := change.pods()
		if before == nil {
			c.createdMirror(l, change)
			continue
		}
		if change.By.Node != before.Spec.NodeName || change.By.Pod != l.uid {
			c.violate(OwnPods, change.At, "%s is written by %s for pod %s", l, change.By.Node, c.name(change.By.Pod))
		}
		if before.DeletionTimestamp == nil && (after == nil || after.DeletionTimestamp != nil) && c.stays(l, change) {
			c.violate(OwnPods, change.At, "%s is removed, and was to stay", l)
		}
		if after == nil {
			continue
		}
		c.forward(l, change, before, after)
		c.readyTrue(l, change, after)
	}
}

// forward checks that a status takes nothing back.
func (c *checker) forward(l *life, change *Change, before, after *corev1.Pod) {
	if final(before.Status.Phase) && after.Status.Phase != before.Status.Phase && c.finalFor(l, change.By) &&
		!isMirror(l.spec) { // which shows what runs, whatever another client says
		c.violate(Forward, change.At, "%s was %s and is %s", l, before.Status.Phase, after.Status.Phase)
	}
	if !c.knew(l, change) {
		return
	}
	if old := before.Status.StartTime; old != nil && !old.Equal(after.Status.StartTime) {
		c.violate(Forward, change.At, "the start of %s was %v and is %v", l, old, after.Status.StartTime)
	}
	c.containersForward(l, change, before.Status.InitContainerStatuses, after.Status.InitContainerStatuses)
	c.containersForward(l, change, before.Status.ContainerStatuses, after.Status.ContainerStatuses)
	for _, list := range [][]corev1.Container{l.spec.Spec.InitContainers, l.spec.Spec.Containers} {
		for i := range list {
			c.staysEnded(l, change, &list[i], allStatuses(before), allStatuses(after))
		}
	}
}

// finalFor reports whether a kubelet could know that the phase of a pod was
// final. Its watch had shown it, or a kubelet wrote it.
func (c *checker) finalFor(l *life, call *Call) bool {
	for _, change := range l.changes {
		if _, after := change.pods(); after != nil && final(after.Status.Phase) {
			return change.By != nil || change.Version <= call.Seen
		}
	}
	return false
}

// knew reports whether the kubelet that has sent a change has also sent the one
// of a kubelet before it. One that has just restarted cannot know what was
// under way.
func (c *checker) knew(l *life, change *Change) bool {
	started := c.started(change.By.Node, change.By.Decided)
	for _, other := range slices.Backward(l.changes) {
		if other.Version < change.Version && other.By != nil {
			return !other.By.Decided.Before(started)
		}
	}
	return false
}

func (c *checker) containersForward(l *life, change *Change, before, after []corev1.ContainerStatus) {
	for i := range before {
		old := &before[i]
		s := statusOf(after, old.Name)
		switch {
		case s == nil:
			c.violate(Forward, change.At, "%s of %s has no status any more", old.Name, l)
		case s.RestartCount < old.RestartCount:
			c.violate(Forward, change.At, "%s of %s had %d restarts and has %d", old.Name, l, old.RestartCount,
				s.RestartCount)
		case s.State.Running != nil && s.ContainerID != "" && hasEnded(old, s.ContainerID):
			c.violate(Forward, change.At, "run %s of %s had ended and runs", s.ContainerID, l)
		}
	}
}

// staysEnded checks that a container which its policy leaves is still shown as
// ended. In a new sandbox init containers run again, and are shown when they
// have ended. Source: checkContainerStateTransition in pkg/kubelet/status,
// v1.37.1.
func (c *checker) staysEnded(l *life, change *Change, spec *corev1.Container, before, after []corev1.ContainerStatus) {
	old, s := statusOf(before, spec.Name), statusOf(after, spec.Name)
	if old == nil || old.State.Terminated == nil || s == nil || s.State.Terminated != nil {
		return
	}
	if !isSidecar(spec) && leaves(l.spec, old.State.Terminated.ExitCode) {
		c.violate(Forward, change.At, "%s of %s had ended for good, and is shown as another", spec.Name, l)
	}
}

// leaves reports whether a pod leaves a container that exits with a code.
func leaves(pod *corev1.Pod, code int32) bool {
	switch pod.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return true
	case corev1.RestartPolicyOnFailure:
		return code == 0
	default:
		return false
	}
}

// allStatuses returns those of all containers of a pod.
func allStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

// hasEnded reports whether a status shows the end of a run.
func hasEnded(s *corev1.ContainerStatus, id string) bool {
	for _, state := range []*corev1.ContainerState{&s.State, &s.LastTerminationState} {
		if state.Terminated != nil && state.Terminated.ContainerID == id {
			return true
		}
	}
	return false
}

// statusOf returns the status of a container, or nil.
func statusOf(list []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}
