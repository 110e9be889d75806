package kubelet

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// Reasons of a pod's conditions. Source: pkg/kubelet/status/generate.go and
// pkg/kubelet/types, v1.37.1.
const (
	reasonUnknownContainers  = "UnknownContainerStatuses"
	reasonPodCompleted       = "PodCompleted"
	reasonPodFailed          = "PodFailed"
	reasonContainersNotReady = "ContainersNotReady"
	reasonNotInitialized     = "ContainersNotInitialized"
	reasonGatesNotReady      = "ReadinessGatesNotReady"
	reasonSandboxNotReady    = "PodSandboxNotReady"
)

// condition returns a condition that is true without a reason, else false.
func condition(kind corev1.PodConditionType, reason, message string) corev1.PodCondition {
	c := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message}
	if reason != "" {
		c.Status = corev1.ConditionFalse
	}
	return c
}

// sandboxCondition is PodReadyToStartContainers: there is a sandbox.
func sandboxCondition(pod *corev1.Pod, observed *cri.Pod) corev1.PodCondition {
	if message, _ := sandboxChange(pod, observed); message != "" {
		return condition(corev1.PodReadyToStartContainers, reasonSandboxNotReady, message)
	}
	return condition(corev1.PodReadyToStartContainers, "", "")
}

// initializedCondition is Initialized. A pod of which a main container has run
// stays initialized.
func initializedCondition(pod *corev1.Pod, old, status *corev1.PodStatus) corev1.PodCondition {
	const kind = corev1.PodInitialized
	if len(pod.Spec.InitContainers) > 0 && len(status.InitContainerStatuses)+len(status.ContainerStatuses) == 0 {
		return condition(kind, reasonUnknownContainers, "")
	}
	unknown, incomplete := notInitialized(pod, status)
	if status.Phase == corev1.PodSucceeded && len(unknown) == 0 {
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reasonPodCompleted}
	}
	for i := range status.ContainerStatuses {
		if s := &status.ContainerStatuses[i].State; s.Running != nil || s.Terminated != nil {
			return condition(kind, "", "")
		}
	}
	message := joinProblems(unknown, "incomplete", incomplete)
	if c := findCondition(old, kind); message == "" || c != nil && c.Status == corev1.ConditionTrue {
		return condition(kind, "", "")
	}
	return condition(kind, reasonNotInitialized, message)
}

// notInitialized returns the init containers of unknown status, and those that
// do not let the next container start yet.
func notInitialized(pod *corev1.Pod, status *corev1.PodStatus) (unknown, incomplete []string) {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		switch s := containerStatus(status.InitContainerStatuses, c.Name); {
		case s == nil:
			unknown = append(unknown, c.Name)
		case isSidecar(c) && (s.Started == nil || !*s.Started), !isSidecar(c) && !s.Ready:
			incomplete = append(incomplete, c.Name)
		}
	}
	return unknown, incomplete
}

// readyConditions are Ready and ContainersReady. Ready follows the readiness
// gates as well, which are among the conditions of other clients.
func readyConditions(pod *corev1.Pod, status *corev1.PodStatus) (ready, containers corev1.PodCondition) {
	reason, message := containersNotReady(pod, status)
	containers = condition(corev1.ContainersReady, reason, message)
	if reason != "" {
		return condition(corev1.PodReady, reason, message), containers
	}
	var problems []string
	for _, gate := range pod.Spec.ReadinessGates {
		c := findCondition(status, gate.ConditionType)
		switch {
		case c == nil:
			problems = append(problems, fmt.Sprintf(
				"corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case c.Status != corev1.ConditionTrue:
			problems = append(problems, fmt.Sprintf(
				"the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, c.Status))
		}
	}
	if len(problems) > 0 {
		return condition(corev1.PodReady, reasonGatesNotReady, strings.Join(problems, ", ")), containers
	}
	return condition(corev1.PodReady, "", ""), containers
}

// containersNotReady returns why not all containers are ready, or "".
func containersNotReady(pod *corev1.Pod, status *corev1.PodStatus) (reason, message string) {
	if len(status.InitContainerStatuses)+len(status.ContainerStatuses) == 0 {
		return reasonUnknownContainers, ""
	}
	var unknown, unready []string
	examine := func(name string, list []corev1.ContainerStatus) {
		switch s := containerStatus(list, name); {
		case s == nil:
			unknown = append(unknown, name)
		case !s.Ready:
			unready = append(unready, name)
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; isSidecar(c) {
			examine(c.Name, status.InitContainerStatuses)
		}
	}
	for i := range pod.Spec.Containers {
		examine(pod.Spec.Containers[i].Name, status.ContainerStatuses)
	}
	switch {
	case status.Phase == corev1.PodSucceeded && len(unknown) == 0:
		return reasonPodCompleted, ""
	case status.Phase == corev1.PodFailed:
		return reasonPodFailed, ""
	}
	if message = joinProblems(unknown, "unready", unready); message != "" {
		return reasonContainersNotReady, message
	}
	return "", ""
}

// joinProblems names containers of unknown status and those of another.
func joinProblems(unknown []string, what string, others []string) string {
	var parts []string
	if len(unknown) > 0 {
		parts = append(parts, fmt.Sprintf("containers with unknown status: %s", unknown))
	}
	if len(others) > 0 {
		parts = append(parts, fmt.Sprintf("containers with %s status: %s", what, others))
	}
	return strings.Join(parts, ", ")
}

// findCondition returns the condition of a type, or nil.
func findCondition(status *corev1.PodStatus, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == kind {
			return &status.Conditions[i]
		}
	}
	return nil
}

// isOwnCondition reports whether the kubelet writes conditions of a type.
func isOwnCondition(kind corev1.PodConditionType) bool {
	switch kind {
	case corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized, corev1.ContainersReady,
		corev1.PodReadyToStartContainers:
		return true
	default:
		return false
	}
}

// keepTransitions sets when each condition of the kubelet has changed.
func keepTransitions(now metav1.Time, old, status *corev1.PodStatus) {
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if !isOwnCondition(c.Type) {
			continue
		}
		c.LastTransitionTime = now
		if before := findCondition(old, c.Type); before != nil && before.Status == c.Status &&
			!before.LastTransitionTime.IsZero() {
			c.LastTransitionTime = before.LastTransitionTime
		}
	}
}
