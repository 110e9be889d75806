package eviction

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Condition is what [Deleter] writes to the condition DisruptionTarget of a
// pod that it is about to delete. The pod's owner can tell the eviction from a
// failure then.
type Condition struct {
	Reason, Message string
}

// DefaultCondition says what kube-controller-manager v1.37.1 says, and appends
// the taint. For evictions that the caller asked for it has words of its own.
func DefaultCondition(task Task) Condition {
	const requested = "EvictionRequested"
	switch d := task.Decision; d.Reason {
	case ReasonNodeEvicted:
		return Condition{
			Reason:  requested,
			Message: fmt.Sprintf("All pods are evicted from node %s%s.", task.Node, because(d.Request)),
		}
	case ReasonRequested:
		return Condition{
			Reason:  requested,
			Message: fmt.Sprintf("Evicted from node %s%s.", task.Node, because(d.Request)),
		}
	default:
		return Condition{
			Reason:  "DeletionByTaintManager",
			Message: "Taint manager: deleting due to NoExecute taint " + d.Taint.ToString(),
		}
	}
}

// because returns how a message goes on with the caller's words, if it has any.
func because(request string) string {
	if request == "" {
		return ""
	}
	return ": " + request
}

// hasDisruptionTarget reports whether a pod carries the condition, of whichever
// client.
func hasDisruptionTarget(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.DisruptionTarget {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// conditionPatch returns the strategic merge patch, for the status subresource,
// that says that the pod is about to be evicted. With the UID in it the API
// server refuses it for another pod.
func conditionPatch(task Task, says Condition) ([]byte, error) {
	// A map, because the typed struct would encode the fields that are not set as
	// null and so remove what other clients have written there.
	condition := map[string]any{
		"type":               corev1.DisruptionTarget,
		"status":             corev1.ConditionTrue,
		"reason":             says.Reason,
		"message":            says.Message,
		"lastTransitionTime": metav1.NewTime(task.StartedAt),
	}
	if task.Generation != 0 {
		condition["observedGeneration"] = task.Generation
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": task.Pod.UID},
		"status":   map[string]any{"conditions": []map[string]any{condition}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode condition patch of pod %s: %w", task.Pod, err)
	}
	return patch, nil
}
