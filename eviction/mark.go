package eviction

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// ReasonTaint is the reason of the condition DisruptionTarget that Delete sets on a
	// pod that leaves for a taint. It is that of kube-controller-manager.
	ReasonTaint = "DeletionByTaintManager"
	// ReasonNode is its reason on a pod whose whole node is evicted.
	ReasonNode = "DeletionByNodeLifecycle"
	// ReasonCalledOff is its reason when it was taken back.
	ReasonCalledOff = "EvictionCalledOff"
	// ReasonNodeLost is the reason in the status of a pod whose whole node is evicted:
	// that of the node lifecycle controller before there were taints. It is taken back
	// with the condition.
	ReasonNodeLost = "NodeLost"
)

// Marked reports whether the pod carries the condition that Delete sets.
func Marked(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.DisruptionTarget {
			return c.Status == corev1.ConditionTrue && (c.Reason == ReasonTaint || c.Reason == ReasonNode)
		}
	}
	return false
}

// markPatch returns the strategic merge patch, for the status subresource, that
// sets the condition DisruptionTarget. The UID in it makes the API server refuse
// it for another pod.
func markPatch(work Work) ([]byte, error) {
	condition := corev1.PodCondition{
		Type:               corev1.DisruptionTarget,
		Status:             corev1.ConditionTrue,
		Reason:             ReasonTaint,
		Message:            fmt.Sprintf("Evicted from node %s because of its taint %s.", work.Node, work.Verdict.Taint.ToString()),
		ObservedGeneration: work.Generation,
		LastTransitionTime: metav1.NewTime(work.At),
	}
	status := make(map[string]any)
	if work.Verdict.Reason == NodeEvicted {
		condition.Reason = ReasonNode
		condition.Message = fmt.Sprintf("All pods are evicted from node %s, which is not ready.", work.Node)
		status["reason"], status["message"] = ReasonNodeLost, fmt.Sprintf("Node %s, on which the pod ran, does not respond.", work.Node)
	}
	return statusPatch(work, condition, status, nil)
}

// unmarkPatch returns the patch that takes back, from the state of the pod that was
// read, what that of markPatch has written.
func unmarkPatch(work Work, live *corev1.Pod) ([]byte, error) {
	condition := corev1.PodCondition{
		Type:               corev1.DisruptionTarget,
		Status:             corev1.ConditionFalse,
		Reason:             ReasonCalledOff,
		Message:            "The pod need not leave its node any more.",
		ObservedGeneration: live.Generation,
		LastTransitionTime: metav1.NewTime(work.At),
	}
	status := make(map[string]any)
	if live.Status.Reason == ReasonNodeLost {
		status["reason"], status["message"] = nil, nil
	}
	return statusPatch(work, condition, status, &live.ResourceVersion)
}

// statusPatch returns a patch for one pod and, if a version is given, one state of it.
func statusPatch(work Work, condition corev1.PodCondition, status map[string]any, version *string) ([]byte, error) {
	status["conditions"] = []map[string]any{asMap(condition)}
	guard := map[string]any{"uid": work.Pod.UID}
	if version != nil {
		guard["resourceVersion"] = *version
	}
	patch, err := json.Marshal(map[string]any{"metadata": guard, "status": status})
	if err != nil {
		return nil, fmt.Errorf("encode condition patch of pod %s: %w", work.Pod, err)
	}
	return patch, nil
}

// asMap leaves out the fields that this condition does not set: encoded as the
// typed struct it would null what others have written there.
func asMap(c corev1.PodCondition) map[string]any {
	fields := map[string]any{
		"type":               c.Type,
		"status":             c.Status,
		"reason":             c.Reason,
		"message":            c.Message,
		"lastTransitionTime": c.LastTransitionTime,
	}
	if c.ObservedGeneration != 0 {
		fields["observedGeneration"] = c.ObservedGeneration
	}
	return fields
}
