package kubelet

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// Termination is a way in which a container has ended.
type Termination struct {
	Type cri.ContainerType
	// Code and Reason are those that the status of its pod shows.
	Code   int32
	Reason string
}

// BySource are pods by where they come from.
type BySource struct{ API, Static int }

// of returns the number to which a pod adds.
func (s *BySource) of(pod *corev1.Pod) *int {
	if isStatic(pod) {
		return &s.Static
	}
	return &s.API
}

// totals are numbers that only grow, since the fleet was made.
type totals struct {
	terminated map[Termination]int // nil before the first
	restarted  BySource
	orphaned   int
	// sandboxErrors are sandboxes that could not be created.
	sandboxErrors int

	starts, totalStarts, writes Durations
}

func newTotals() totals {
	return totals{starts: newStartDurations(), totalStarts: newStartDurations(), writes: newWriteDurations()}
}

// countEnds counts the containers that a status shows as ended, and the one
// before it did not.
func (t *totals) countEnds(before, status *corev1.PodStatus) {
	t.countEndsOf(cri.ContainerTypeInit, before.InitContainerStatuses, status.InitContainerStatuses)
	t.countEndsOf(cri.ContainerTypeMain, before.ContainerStatuses, status.ContainerStatuses)
}

func (t *totals) countEndsOf(kind cri.ContainerType, before, statuses []corev1.ContainerStatus) {
	for i := range statuses {
		ended := statuses[i].State.Terminated
		if ended == nil {
			continue
		}
		if was := containerStatus(before, statuses[i].Name); was != nil && was.State.Terminated != nil {
			continue
		}
		if t.terminated == nil {
			t.terminated = map[Termination]int{}
		}
		t.terminated[Termination{kind, ended.ExitCode, ended.Reason}]++
	}
}
