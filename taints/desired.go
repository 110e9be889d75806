package taints

import (
	corev1 "k8s.io/api/core/v1"
)

// conditionTaints maps conditions and their status to the taints they require.
// Source: nodeConditionToTaintKeyStatusMap of kube-controller-manager v1.37.
var conditionTaints = [...]struct {
	condition corev1.NodeConditionType
	status    corev1.ConditionStatus
	key       string
}{
	{corev1.NodeReady, corev1.ConditionFalse, corev1.TaintNodeNotReady},
	{corev1.NodeReady, corev1.ConditionUnknown, corev1.TaintNodeUnreachable},
	{corev1.NodeMemoryPressure, corev1.ConditionTrue, corev1.TaintNodeMemoryPressure},
	{corev1.NodeDiskPressure, corev1.ConditionTrue, corev1.TaintNodeDiskPressure},
	{corev1.NodeNetworkUnavailable, corev1.ConditionTrue, corev1.TaintNodeNetworkUnavailable},
	{corev1.NodePIDPressure, corev1.ConditionTrue, corev1.TaintNodePIDPressure},
}

// AppendNoSchedule appends to desired the NoSchedule taints that the node's
// conditions and spec.unschedulable require, and returns the extended list. It
// allocates only when desired has no room.
func AppendNoSchedule(desired []corev1.Taint, node *corev1.Node) []corev1.Taint {
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		for j := range conditionTaints {
			if rule := &conditionTaints[j]; rule.condition == c.Type && rule.status == c.Status {
				desired = append(desired, corev1.Taint{Key: rule.key, Effect: corev1.TaintEffectNoSchedule})
			}
		}
	}
	if node.Spec.Unschedulable {
		key := corev1.TaintNodeUnschedulable
		desired = append(desired, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	return desired
}

// OwnsNoSchedule reports whether AppendNoSchedule decides about the taint. All
// other taints belong to other clients.
func OwnsNoSchedule(taint *corev1.Taint) bool {
	if taint.Effect != corev1.TaintEffectNoSchedule {
		return false
	}
	if taint.Key == corev1.TaintNodeUnschedulable {
		return true
	}
	for i := range conditionTaints {
		if conditionTaints[i].key == taint.Key {
			return true
		}
	}
	return false
}

// NoExecute returns the NoExecute taint for a node whose Ready condition has
// that status: not-ready for False, unreachable for Unknown, none for True.
func NoExecute(ready corev1.ConditionStatus) (corev1.Taint, bool) {
	switch ready {
	case corev1.ConditionFalse:
		return corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}, true
	case corev1.ConditionUnknown:
		return corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}, true
	}
	return corev1.Taint{}, false
}

// OwnsNoExecute reports whether NoExecute returns the taint: whether it is one
// of the two that mark a node as not ready or unreachable.
func OwnsNoExecute(taint *corev1.Taint) bool {
	return taint.Effect == corev1.TaintEffectNoExecute &&
		(taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable)
}
