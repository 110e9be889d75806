package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusView is what the status of a pod is generated from.
type statusView struct {
	View
	// old is the status before.
	old *corev1.PodStatus
	// waiting says why containers are not started, by name.
	waiting map[string]Wait
	// terminal tells that no container is restarted.
	terminal bool
	// hostIP is the address of the node, or "".
	hostIP string
}

// Why a pod ends that has been active for too long. Source:
// pkg/kubelet/active_deadline.go, v1.37.1.
const (
	reasonDeadlineExceeded  = "DeadlineExceeded"
	messageDeadlineExceeded = "Pod was active on the node longer than the specified deadline"
)

// isTerminal reports whether a phase is final.
func isTerminal(phase corev1.PodPhase) bool {
	return phase == corev1.PodFailed || phase == corev1.PodSucceeded
}

// generate returns the status of a pod at a time.
func (v *statusView) generate(now time.Time) corev1.PodStatus {
	pod, old := v.Pod, v.old
	s := corev1.PodStatus{
		ObservedGeneration:    pod.Generation,
		HostIP:                old.HostIP,
		HostIPs:               old.HostIPs,
		PodIP:                 old.PodIP,
		PodIPs:                old.PodIPs,
		InitContainerStatuses: v.containerStatuses(pod.Spec.InitContainers, old.InitContainerStatuses, true),
		ContainerStatuses:     v.containerStatuses(pod.Spec.Containers, old.ContainerStatuses, false),
	}
	if len(v.Observed.Sandboxes) > 0 && v.Observed.Sandboxes[0].IP != "" {
		s.PodIP = v.Observed.Sandboxes[0].IP
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	}
	if v.hostIP != "" {
		s.HostIP, s.HostIPs = v.hostIP, []corev1.HostIP{{IP: v.hostIP}}
		if pod.Spec.HostNetwork && s.PodIP == "" {
			s.PodIP, s.PodIPs = v.hostIP, []corev1.PodIP{{IP: v.hostIP}}
		}
	}
	s.Phase = phase(pod, &s, v.terminal, hasStarted(pod, v.Observed))
	v.keepPhase(&s)
	if pastDeadline(now, pod, old) {
		s.Phase, s.Reason, s.Message = corev1.PodFailed, reasonDeadlineExceeded, messageDeadlineExceeded
	}
	if isTerminal(pod.Status.Phase) {
		s.Phase = pod.Status.Phase
	}
	v.addConditions(&s)
	finishStatus(now, old, &s)
	return s
}

// keepPhase keeps a final phase, and the reason of a phase that stays.
func (v *statusView) keepPhase(s *corev1.PodStatus) {
	switch {
	case isTerminal(v.old.Phase):
		s.Phase = v.old.Phase
	case isTerminal(v.Pod.Status.Phase):
		s.Phase = v.Pod.Status.Phase
	}
	if s.Phase != v.old.Phase {
		return
	}
	if s.Reason = v.old.Reason; s.Reason == "" {
		s.Reason = v.Pod.Status.Reason
	}
	if s.Message = v.old.Message; s.Message == "" {
		s.Message = v.Pod.Status.Message
	}
}

// addConditions adds those of other clients, then those of the kubelet.
func (v *statusView) addConditions(s *corev1.PodStatus) {
	for _, c := range v.Pod.Status.Conditions {
		if !isOwnCondition(c.Type) {
			s.Conditions = append(s.Conditions, c)
		}
	}
	ready, containers := readyConditions(v.Pod, s)
	own := []corev1.PodCondition{
		sandboxCondition(v.Pod, v.Observed), initializedCondition(v.Pod, v.old, s), ready, containers,
		condition(corev1.PodScheduled, "", ""),
	}
	for i := range own {
		own[i].ObservedGeneration = v.Pod.Generation
	}
	s.Conditions = append(s.Conditions, own...)
}

// finishStatus sets what a status keeps from the one before.
func finishStatus(now time.Time, old, s *corev1.PodStatus) {
	keepTransitions(apiTime(now), old, s)
	if s.StartTime = old.StartTime; s.StartTime.IsZero() {
		t := apiTime(now)
		s.StartTime = &t
	}
}

// pastDeadline reports whether a pod has been active for too long.
func pastDeadline(now time.Time, pod *corev1.Pod, status *corev1.PodStatus) bool {
	at, ok := deadline(pod, status)
	return ok && !now.Before(at)
}

// deadline returns until when a pod may be active, if there is such a time.
func deadline(pod *corev1.Pod, status *corev1.PodStatus) (time.Time, bool) {
	if pod.Spec.ActiveDeadlineSeconds == nil || status.StartTime.IsZero() {
		return time.Time{}, false
	}
	return status.StartTime.Add(time.Duration(*pod.Spec.ActiveDeadlineSeconds) * time.Second), true
}

// finalStatus returns the status of a pod that has ended. Whatever is not known
// to have ended well has failed.
func finalStatus(now time.Time, pod *corev1.Pod, old *corev1.PodStatus) corev1.PodStatus {
	s := *old.DeepCopy()
	if hasInitialized(pod, &pod.Status) {
		// What the API has counts, as an init container that was stopped may have
		// exited well.
		loseContainers(s.ContainerStatuses)
	}
	started := 0
	for i := range s.InitContainerStatuses {
		c := &s.InitContainerStatuses[i]
		if i == 0 || c.State.Waiting == nil || c.LastTerminationState.Terminated != nil {
			started = i + 1
		}
	}
	loseContainers(s.InitContainerStatuses[:started])
	if !isTerminal(s.Phase) && !isStatic(pod) {
		s.Phase = corev1.PodFailed
	}
	finishStatus(now, old, &s)
	return s
}

// showsRunning reports whether a status shows that a container runs or that the
// pod is ready.
func showsRunning(s *corev1.PodStatus) bool {
	ready := findCondition(s, corev1.PodReady)
	runs := func(c corev1.ContainerStatus) bool { return c.State.Running != nil }
	return ready != nil && ready.Status == corev1.ConditionTrue ||
		slices.ContainsFunc(s.InitContainerStatuses, runs) || slices.ContainsFunc(s.ContainerStatuses, runs)
}

// loseContainers gives an end to those that have none.
func loseContainers(list []corev1.ContainerStatus) {
	for i := range list {
		if list[i].State.Terminated == nil {
			list[i].State = corev1.ContainerState{Terminated: lostEnd()}
		}
	}
}

// hasInitialized reports whether the init containers of a pod have ever
// succeeded.
func hasInitialized(pod *corev1.Pod, s *corev1.PodStatus) bool {
	if len(pod.Spec.InitContainers) == 0 {
		return true
	}
	for i := range s.ContainerStatuses {
		if c := &s.ContainerStatuses[i]; c.LastTerminationState.Terminated != nil || c.State.Waiting == nil {
			return true
		}
	}
	last := &pod.Spec.InitContainers[len(pod.Spec.InitContainers)-1]
	c := containerStatus(s.InitContainerStatuses, last.Name)
	switch {
	case c == nil:
		return false
	case isSidecar(last):
		return c.State.Running != nil && c.Started != nil && *c.Started
	default:
		return c.State.Terminated != nil && c.State.Terminated.ExitCode == 0 ||
			c.LastTerminationState.Terminated != nil && c.LastTerminationState.Terminated.ExitCode == 0
	}
}

// isLegal reports whether a status may follow another. A container that has
// ended and is not restarted stays ended.
func isLegal(pod *corev1.Pod, old, s *corev1.PodStatus) bool {
	if pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		return true
	}
	stays := func(specs []corev1.Container, old, list []corev1.ContainerStatus, init bool) bool {
		for i := range specs {
			c := &specs[i]
			before, after := containerStatus(old, c.Name), containerStatus(list, c.Name)
			if before == nil || before.State.Terminated == nil || after == nil || after.State.Terminated != nil ||
				init && isSidecar(c) {
				continue
			}
			code := before.State.Terminated.ExitCode
			if code != 0 && pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure || restartsAfter(&pod.Spec, c, code) {
				continue
			}
			return false
		}
		return true
	}
	return stays(pod.Spec.Containers, old.ContainerStatuses, s.ContainerStatuses, false) &&
		stays(pod.Spec.InitContainers, old.InitContainerStatuses, s.InitContainerStatuses, true)
}

// sameStatus reports whether two statuses differ in nothing that the kubelet
// writes. Conditions of other clients do not count, and neither do fields that
// no kubelet here sets. Source: isPodStatusByKubeletEqual in
// pkg/kubelet/status, v1.37.1.
//
// Each sync and each event of a pod asks for it. Reflection takes a hundred
// times as long.
func sameStatus(a, b *corev1.PodStatus) bool {
	return a.Phase == b.Phase && a.Reason == b.Reason && a.Message == b.Message &&
		a.HostIP == b.HostIP && a.PodIP == b.PodIP &&
		a.ObservedGeneration == b.ObservedGeneration && a.StartTime.Equal(b.StartTime) &&
		sameConditions(a.Conditions, b.Conditions) &&
		sameList(a.HostIPs, b.HostIPs, sameValue) && sameList(a.PodIPs, b.PodIPs, sameValue) &&
		sameList(a.InitContainerStatuses, b.InitContainerStatuses, sameContainer) &&
		sameList(a.ContainerStatuses, b.ContainerStatuses, sameContainer)
}

func sameContainer(a, b *corev1.ContainerStatus) bool {
	return a.Name == b.Name && a.Ready == b.Ready && a.RestartCount == b.RestartCount && a.Image == b.Image &&
		a.ImageID == b.ImageID && a.ContainerID == b.ContainerID && samePointer(a.Started, b.Started, sameValue) &&
		sameState(&a.State, &b.State) && sameState(&a.LastTerminationState, &b.LastTerminationState)
}

func sameState(a, b *corev1.ContainerState) bool {
	return samePointer(a.Waiting, b.Waiting, sameValue) &&
		samePointer(a.Running, b.Running, func(a, b *corev1.ContainerStateRunning) bool {
			return a.StartedAt.Equal(&b.StartedAt)
		}) &&
		samePointer(a.Terminated, b.Terminated, func(a, b *corev1.ContainerStateTerminated) bool {
			first, second := *a, *b
			first.StartedAt, second.StartedAt = metav1.Time{}, metav1.Time{}
			first.FinishedAt, second.FinishedAt = metav1.Time{}, metav1.Time{}
			return first == second && a.StartedAt.Equal(&b.StartedAt) && a.FinishedAt.Equal(&b.FinishedAt)
		})
}

func sameValue[T comparable](a, b *T) bool { return *a == *b }

func samePointer[T any](a, b *T, same func(a, b *T) bool) bool {
	return a == b || a != nil && b != nil && same(a, b)
}

func sameList[T any](a, b []T, same func(a, b *T) bool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !same(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

// sameConditions reports whether two lists have the same conditions of the
// kubelet, in the same order.
func sameConditions(a, b []corev1.PodCondition) bool {
	for {
		a, b = fromOwn(a), fromOwn(b)
		if len(a) == 0 || len(b) == 0 {
			return len(a) == len(b)
		}
		x, y := &a[0], &b[0]
		if x.Type != y.Type || x.Status != y.Status || x.Reason != y.Reason || x.Message != y.Message ||
			x.ObservedGeneration != y.ObservedGeneration || !x.LastProbeTime.Equal(&y.LastProbeTime) ||
			!x.LastTransitionTime.Equal(&y.LastTransitionTime) {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

// fromOwn returns the rest of a list from the first condition of the kubelet.
func fromOwn(list []corev1.PodCondition) []corev1.PodCondition {
	for len(list) > 0 && !isOwnCondition(list[0].Type) {
		list = list[1:]
	}
	return list
}
