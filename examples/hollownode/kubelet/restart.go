package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// isSidecar reports whether an init container runs as long as the pod.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// restartsAfter reports whether a container is restarted after an exit. Its own
// rules come first, then its own policy, then the pod's.
func restartsAfter(spec *corev1.PodSpec, c *corev1.Container, code int32) bool {
	if c.RestartPolicy != nil {
		switch action, _ := matchingRule(c, code); action {
		case corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers:
			return true
		}
		switch *c.RestartPolicy {
		case corev1.ContainerRestartPolicyAlways:
			return true
		case corev1.ContainerRestartPolicyOnFailure:
			return code != 0
		case corev1.ContainerRestartPolicyNever:
			return false
		}
	}
	switch spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	default:
		return true
	}
}

// matchingRule returns the action of the first restart rule for an exit code.
func matchingRule(c *corev1.Container, code int32) (corev1.ContainerRestartRuleAction, bool) {
	for i := range c.RestartPolicyRules {
		rule := &c.RestartPolicyRules[i]
		if rule.ExitCodes == nil {
			continue
		}
		in := slices.Contains(rule.ExitCodes.Values, code)
		if in && rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn ||
			!in && rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpNotIn {
			return rule.Action, true
		}
	}
	return "", false
}

// restartsRunning reports whether a container that is stopped while it runs is
// started again. There is no exit code yet, so rules do not count.
func restartsRunning(spec *corev1.PodSpec, c *corev1.Container) bool {
	if c.RestartPolicy != nil {
		return *c.RestartPolicy != corev1.ContainerRestartPolicyNever
	}
	return spec.RestartPolicy != corev1.RestartPolicyNever
}

// mayStart reports whether a container that does not run is to be started.
func mayStart(pod *corev1.Pod, c *corev1.Container, observed *cri.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	latest, found := observed.Latest(c.Name)
	if !found {
		return true
	}
	switch latest.State {
	case cri.StateRunning:
		return false
	case cri.StateExited:
		return restartsAfter(&pod.Spec, c, latest.ExitCode)
	default:
		return true
	}
}

// hasCreated reports whether any container of the pod's main list was created,
// in any sandbox.
func hasCreated(pod *corev1.Pod, observed *cri.Pod) bool {
	for i := range pod.Spec.Containers {
		c, found := observed.Latest(pod.Spec.Containers[i].Name)
		if found && (c.State == cri.StateCreated || c.State == cri.StateRunning || c.State == cri.StateExited) {
			return true
		}
	}
	return false
}

// hasStarted reports whether any container of the pod's main list is in the
// present sandbox. Then its init containers have all succeeded.
func hasStarted(pod *corev1.Pod, observed *cri.Pod) bool {
	for i := range pod.Spec.Containers {
		if _, found := observed.LatestActive(pod.Spec.Containers[i].Name); found {
			return true
		}
	}
	return false
}

// restartsAllAfter reports whether an exit of a container restarts all.
func restartsAllAfter(c *corev1.Container, code int32) bool {
	action, _ := matchingRule(c, code)
	return action == corev1.ContainerRestartRuleActionRestartAllContainers
}
