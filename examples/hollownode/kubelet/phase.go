package kubelet

import (
	corev1 "k8s.io/api/core/v1"
)

// reasonRestartingAll is the reason of a container that was removed because all
// containers of its pod restart.
const reasonRestartingAll = "RestartingAllContainers"

// phaseCounts counts the containers of a pod by what they say of its phase.
type phaseCounts struct {
	pendingInit, pendingSidecar, failedInit                 int
	unknown, running, waiting, stopped, succeeded, finished int
}

// phase returns the phase of a pod. Terminal tells that none of its containers
// is restarted, started that one of the main containers has run in this
// sandbox.
func phase(pod *corev1.Pod, status *corev1.PodStatus, terminal, started bool) corev1.PodPhase {
	n := countContainers(pod, status)
	switch {
	case n.failedInit > 0:
		return corev1.PodFailed
	case n.pendingInit > 0, n.pendingSidecar > 0 && !started, n.waiting > 0:
		return corev1.PodPending
	case n.running > 0 && n.unknown == 0:
		return corev1.PodRunning
	case n.running > 0 || n.stopped == 0 || n.unknown > 0:
		return corev1.PodPending
	case n.stopped > n.finished && !(terminal && !isStatic(pod)):
		return corev1.PodRunning
	case n.stopped == n.succeeded:
		return corev1.PodSucceeded
	default:
		return corev1.PodFailed
	}
}

func countContainers(pod *corev1.Pod, status *corev1.PodStatus) phaseCounts {
	var n phaseCounts
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		s := containerStatus(status.InitContainerStatuses, c.Name)
		if isSidecar(c) {
			n.sidecar(s)
			continue
		}
		switch ended := lastEnd(s); {
		case ended == nil:
			n.pendingInit++
		case ended.ExitCode != 0 && !restartsFrom(pod, c, ended):
			n.failedInit++
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		s := containerStatus(status.ContainerStatuses, c.Name)
		ended := lastEnd(s)
		switch {
		case s == nil:
			n.unknown++
		case s.State.Running != nil:
			n.running++
		case ended != nil:
			n.stopped++
			if !restartsFrom(pod, c, ended) {
				n.finished++
			}
			if s.State.Terminated != nil && ended.ExitCode == 0 {
				n.succeeded++
			}
		case s.State.Waiting != nil:
			n.waiting++
		default:
			n.unknown++
		}
	}
	return n
}

// sidecar counts a sidecar. One that has ended does not count.
func (n *phaseCounts) sidecar(s *corev1.ContainerStatus) {
	switch {
	case s == nil:
		n.unknown++
	case s.State.Running != nil:
		n.running++
		if s.Started == nil || !*s.Started {
			n.pendingSidecar++
		}
	case lastEnd(s) != nil:
	case s.State.Waiting != nil:
		n.pendingSidecar++
		n.waiting++
	default:
		n.pendingSidecar++
		n.unknown++
	}
}

// lastEnd returns how a container that does not run ended last, or nil.
func lastEnd(s *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	switch {
	case s == nil || s.State.Running != nil:
		return nil
	case s.State.Terminated != nil:
		return s.State.Terminated
	case s.State.Waiting != nil:
		return s.LastTerminationState.Terminated
	default:
		return nil
	}
}

// restartsFrom reports whether a container is restarted after such an end.
func restartsFrom(pod *corev1.Pod, c *corev1.Container, ended *corev1.ContainerStateTerminated) bool {
	return ended.Reason == reasonRestartingAll || restartsAfter(&pod.Spec, c, ended.ExitCode)
}

// containerStatus returns the status of a name, or nil.
func containerStatus(list []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}
