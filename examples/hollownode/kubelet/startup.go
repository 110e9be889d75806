package kubelet

import (
	corev1 "k8s.io/api/core/v1"
)

// startup is how far a pod is in its first start, of which the time since its
// creation is counted:
//
//	         written, with          the API
//	measured ── all running ──► written ── shows it ──► counted
//	   └──────── its phase is final, or it is unschedulable ──▲
//
// A pod that had begun before its kubelet did is not measured. Source:
// pod_startup_latency_tracker.go, v1.37.1. If the watch of a kubelet is faster
// than the answer to its write, it counts with the next change, maybe never.
type startup uint8

const (
	startupCounted startup = iota
	startupMeasured
	startupWritten
)

// String returns the name of the state.
func (s startup) String() string { return [...]string{"counted", "measured", "written"}[s] }

// newStartup returns the state of a pod that its kubelet sees for the first
// time.
func newStartup(pod *corev1.Pod) startup {
	if isStatic(pod) || pod.Status.StartTime != nil || hasNoStart(pod) {
		return startupCounted
	}
	return startupMeasured
}

// hasNoStart reports whether the start of a pod is not measured.
func hasNoStart(pod *corev1.Pod) bool {
	scheduled := findCondition(&pod.Status, corev1.PodScheduled)
	return isTerminal(pod.Status.Phase) || scheduled != nil && scheduled.Status == corev1.ConditionFalse
}

// allRun reports whether a status shows all main containers running.
func allRun(status *corev1.PodStatus) bool {
	for i := range status.ContainerStatuses {
		if status.ContainerStatuses[i].State.Running == nil {
			return false
		}
	}
	return true
}
