package judge

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

// sameTaints reports whether two lists are the same in all that counts here.
// The model shares what has not changed.
func sameTaints(a, b []corev1.Taint) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) || slices.EqualFunc(a, b, func(a, b corev1.Taint) bool {
		return a.Key == b.Key && a.Effect == b.Effect && a.Value == b.Value && a.TimeAdded.Equal(b.TimeAdded)
	})
}

// asked is which condition, in which status, asks for which NoSchedule taint.
// Source: kube-controller-manager v1.37, pkg/controller/nodelifecycle.
var asked = [...]struct {
	condition corev1.NodeConditionType
	status    corev1.ConditionStatus
	key       string
}{
	{corev1.NodeReady, corev1.ConditionFalse, corev1.TaintNodeNotReady},
	{corev1.NodeReady, corev1.ConditionUnknown, corev1.TaintNodeUnreachable},
	{corev1.NodeMemoryPressure, corev1.ConditionTrue, corev1.TaintNodeMemoryPressure},
	{corev1.NodeDiskPressure, corev1.ConditionTrue, corev1.TaintNodeDiskPressure},
	{corev1.NodePIDPressure, corev1.ConditionTrue, corev1.TaintNodePIDPressure},
	{corev1.NodeNetworkUnavailable, corev1.ConditionTrue, corev1.TaintNodeNetworkUnavailable},
}

// owned reports whether a taint is one that the controller decides about.
func owned(t *corev1.Taint) bool {
	switch t.Effect {
	case corev1.TaintEffectNoExecute:
		return illnessTaint(t.Key)
	case corev1.TaintEffectNoSchedule:
		for i := range asked {
			if asked[i].key == t.Key {
				return true
			}
		}
		return t.Key == corev1.TaintNodeUnschedulable
	case corev1.TaintEffectPreferNoSchedule:
	}
	return false
}

// wrongTaint returns a NoSchedule taint of ours that a node has and should not
// have, or the other way around; empty if there is none. Those that say that a
// node is ill may be ignored: only a heartbeat takes them away.
func wrongTaint(node *corev1.Node, ignoreIllness bool) string {
	for i := range asked {
		c := condition(node, asked[i].condition)
		wanted := c != nil && c.Status == asked[i].status
		has := hasTaint(node, asked[i].key, corev1.TaintEffectNoSchedule)
		if wanted != has && !(has && ignoreIllness && illnessTaint(asked[i].key)) {
			return asked[i].key
		}
	}
	if node.Spec.Unschedulable != hasTaint(node, corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule) {
		return corev1.TaintNodeUnschedulable
	}
	return ""
}

func hasTaint(node *corev1.Node, key string, effect corev1.TaintEffect) bool {
	for i := range node.Spec.Taints {
		if node.Spec.Taints[i].Key == key && node.Spec.Taints[i].Effect == effect {
			return true
		}
	}
	return false
}

const executes = corev1.TaintEffectNoExecute

// illnessTaint reports whether a taint with that key says that its node is ill.
func illnessTaint(key string) bool {
	return key == corev1.TaintNodeNotReady || key == corev1.TaintNodeUnreachable
}

// illnessOf returns the taint that says that a node is ill, of several with
// TimeAdded the earliest.
func illnessOf(node *corev1.Node, effect corev1.TaintEffect) *corev1.Taint {
	var found *corev1.Taint
	for i := range node.Spec.Taints {
		t := &node.Spec.Taints[i]
		if t.Effect != effect || !illnessTaint(t.Key) {
			continue
		}
		if found == nil || !t.TimeAdded.IsZero() && t.TimeAdded.Before(found.TimeAdded) {
			found = t
		}
	}
	return found
}

// reported reports whether anything says of a node whether it is ready. Of a
// new one that may take the startup grace period.
func reported(node *corev1.Node) bool { return model.ReadyStatus(node) != "" }

// saidIll reports whether a node was said not to be ready.
func saidIll(node *corev1.Node) bool {
	return reported(node) && model.ReadyStatus(node) != corev1.ConditionTrue
}

func condition(node *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
