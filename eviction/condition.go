package eviction

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// ConditionReasonTaint is the reason of the condition DisruptionTarget of a
	// pod that leaves because of a taint. kube-controller-manager uses the same.
	ConditionReasonTaint = "DeletionByTaintManager"
	// ConditionReasonNode is its reason on a pod that leaves a node which does
	// not respond.
	ConditionReasonNode = "DeletionByNodeLifecycle"
	// ConditionReasonRequest is its reason on a pod that leaves because the
	// caller asked for that.
	ConditionReasonRequest = "EvictionRequested"
	// ConditionReasonCanceled is its reason after it is cleared.
	ConditionReasonCanceled = "EvictionCanceled"
	// StatusReasonNodeLost is the reason in the status of a pod that leaves a node
	// which does not respond. Give it to Tracker.EvictNode for such a node. The
	// node lifecycle controller used it before there were taints. It is cleared
	// with the condition.
	StatusReasonNodeLost = "NodeLost"
)

// A Condition is what an eviction writes to the status of its pod.
type Condition struct {
	// Type is the type of the condition. Empty means DisruptionTarget, which
	// kube-controller-manager's Job controller and others read.
	Type corev1.PodConditionType
	// Reason and Message are those of the condition. Config.Own must have Reason.
	Reason, Message string
	// StatusReason and StatusMessage replace those of the status itself. With an
	// empty StatusReason they are left alone. Config.Own must have StatusReason.
	StatusReason, StatusMessage string
}

// reasons returns those that must be one's own, or the condition would stay.
func (c Condition) reasons() []string {
	if c.StatusReason == "" {
		return []string{c.Reason}
	}
	return []string{c.Reason, c.StatusReason}
}

// own says which conditions and status reasons are one's own.
type own struct {
	reasons []string
	only    corev1.PodConditionType // empty: conditions of any type
}

// defaultOwn is what DefaultCondition writes.
func defaultOwn() own {
	return own{
		reasons: []string{
			ConditionReasonTaint, ConditionReasonNode, ConditionReasonRequest, StatusReasonNodeLost,
		},
		only: corev1.DisruptionTarget,
	}
}

func (o own) has(reason string) bool { return slices.Contains(o.reasons, reason) }

// condition returns a true condition of a pod that is one's own, or nil.
func (o own) condition(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Status == corev1.ConditionTrue && o.has(c.Reason) && (o.only == "" || c.Type == o.only) {
			return c
		}
	}
	return nil
}

// HasDisruptionTarget reports whether the pod has a true condition
// DisruptionTarget with one of the reasons of DefaultCondition.
func HasDisruptionTarget(pod *corev1.Pod) bool { return defaultOwn().condition(pod) != nil }

// DefaultCondition says what kube-controller-manager v1.37.1 says, and appends
// the taint. For evictions that the caller asked for it has words of its own.
func DefaultCondition(task Task) Condition {
	switch d := task.Decision; {
	case d.Reason == ReasonNodeEvicted && d.Request == StatusReasonNodeLost:
		return Condition{
			Reason:       ConditionReasonNode,
			Message:      fmt.Sprintf("All pods are evicted from node %s, which is not ready.", task.Node),
			StatusReason: StatusReasonNodeLost,
			StatusMessage: fmt.Sprintf("Node %s which was running pod %s is unresponsive",
				task.Node, task.Pod.Name),
		}
	case d.Reason == ReasonNodeEvicted:
		return Condition{
			Reason:  ConditionReasonRequest,
			Message: fmt.Sprintf("All pods are evicted from node %s%s.", task.Node, because(d.Request)),
		}
	case d.Reason == ReasonRequested:
		return Condition{
			Reason:  ConditionReasonRequest,
			Message: fmt.Sprintf("Evicted from node %s%s.", task.Node, because(d.Request)),
		}
	}
	return Condition{
		Reason:  ConditionReasonTaint,
		Message: "Taint manager: deleting due to NoExecute taint " + task.Decision.Taint.ToString(),
	}
}

// because returns how a message goes on with the caller's words, if it has any.
func because(request string) string {
	if request == "" {
		return ""
	}
	return ": " + request
}

// setConditionPatch returns the strategic merge patch, for the status
// subresource, that says that the pod is about to be evicted. With the UID in
// it the API server refuses it for another pod.
func setConditionPatch(task Task) ([]byte, error) {
	says := task.rules.describe(task)
	for _, reason := range says.reasons() {
		if !task.rules.own.has(reason) {
			return nil, fmt.Errorf("%w: Describe returns the reason %q for pod %s, want one of Own, %q",
				ErrInvalidConfig, reason, task.Pod, task.rules.own.reasons)
		}
	}
	if says.Type == "" {
		says.Type = corev1.DisruptionTarget
	}
	status := make(map[string]any)
	if says.StatusReason != "" {
		status["reason"], status["message"] = says.StatusReason, says.StatusMessage
	}
	return statusPatch(task, corev1.PodCondition{
		Type:               says.Type,
		Status:             corev1.ConditionTrue,
		Reason:             says.Reason,
		Message:            says.Message,
		ObservedGeneration: task.Generation,
		LastTransitionTime: metav1.NewTime(task.StartedAt),
	}, status, nil)
}

// clearConditionPatch returns the patch that reverts setConditionPatch, for the
// state of the pod that was read.
func clearConditionPatch(task Task, live *corev1.Pod, set *corev1.PodCondition) ([]byte, error) {
	status := make(map[string]any)
	if task.rules.own.has(live.Status.Reason) {
		status["reason"], status["message"] = nil, nil
	}
	return statusPatch(task, corev1.PodCondition{
		Type:               set.Type,
		Status:             corev1.ConditionFalse,
		Reason:             ConditionReasonCanceled,
		Message:            "The eviction of the pod is canceled.",
		ObservedGeneration: live.Generation,
		LastTransitionTime: metav1.NewTime(task.StartedAt),
	}, status, &live.ResourceVersion)
}

// statusPatch returns a patch that is guarded by the pod's UID and, unless
// version is nil, by its resourceVersion.
func statusPatch(
	task Task, condition corev1.PodCondition, status map[string]any, version *string,
) ([]byte, error) {
	status["conditions"] = []map[string]any{asMap(condition)}
	guard := map[string]any{"uid": task.Pod.UID}
	if version != nil {
		guard["resourceVersion"] = *version
	}
	patch, err := json.Marshal(map[string]any{"metadata": guard, "status": status})
	if err != nil {
		return nil, fmt.Errorf("encode condition patch of pod %s: %w", task.Pod, err)
	}
	return patch, nil
}

// asMap omits the fields that this condition does not set. The typed struct
// would encode them as null and so remove what other clients have written
// there.
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
