package eviction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
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
