package demonstration

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// IsReady reports whether a pod is shown as ready.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// ReadyOf returns the condition Ready of a node, or an empty one.
func ReadyOf(node *corev1.Node) corev1.NodeCondition {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	return corev1.NodeCondition{}
}
