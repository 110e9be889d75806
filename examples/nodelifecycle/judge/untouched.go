package judge

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

// A patch of a node changes only what is the controller's.
func nodesOfOthers(s *sent, w model.NodeWrite) {
	if foreignChange(w.Before, w.After) {
		s.accuse(OthersUntouched, "it changes what is not the controller's: %s", s.call.Data)
	}
}

// A patch of a pod changes only what is the controller's.
func podsOfOthers(s *sent, w model.PodWrite) {
	if foreignPodChange(w.Before, w.After) {
		s.accuse(OthersUntouched, "it changes what is not the controller's: %s", s.call.Data)
	}
}

// foreignChange reports whether a process has changed something of a node that
// is not the controller's: taints of others, labels except two that it copies,
// conditions except those that the kubelet reports, and those to anything but
// Unknown.
func foreignChange(before, after *corev1.Node) bool {
	b, a := *before, *after
	b.ResourceVersion, a.ResourceVersion = "", ""
	b.Spec.Taints, a.Spec.Taints = ofOthers(before.Spec.Taints), ofOthers(after.Spec.Taints)
	b.Labels, a.Labels = maps.Clone(before.Labels), maps.Clone(after.Labels)
	for from, to := range copied {
		if value, there := a.Labels[to]; there && value == b.Labels[from] {
			delete(b.Labels, to)
			delete(a.Labels, to)
		}
	}
	ours := func(c corev1.NodeCondition) bool {
		has := condition(after, c.Type)
		return has != nil && has.Status == corev1.ConditionUnknown && slices.Contains(reportedConditions, c.Type)
	}
	b.Status.Conditions = slices.DeleteFunc(slices.Clone(before.Status.Conditions), ours)
	a.Status.Conditions = slices.DeleteFunc(slices.Clone(after.Status.Conditions), ours)
	return !equality.Semantic.DeepEqual(&b, &a)
}

// reportedConditions are those that a kubelet reports.
var reportedConditions = []corev1.NodeConditionType{
	corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure,
}

// copied are labels, by those from which they have their value.
var copied = map[string]string{
	corev1.LabelOSStable:   "beta.kubernetes.io/os",
	corev1.LabelArchStable: "beta.kubernetes.io/arch",
}

func ofOthers(taints []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool { return owned(&t) })
}

// foreignPodChange reports whether a process has changed something of a pod that
// is not the controller's. It marks a pod as not ready, as about to be evicted,
// or as lost with its node, and takes no mark back.
func foreignPodChange(before, after *corev1.Pod) bool {
	b, a := *before, *after
	b.ResourceVersion, a.ResourceVersion = "", ""
	if after.Status.Reason == nodeLost {
		b.Status.Reason, b.Status.Message = after.Status.Reason, after.Status.Message
	}
	ours := func(c corev1.PodCondition) bool {
		had, has := podCondition(before, c.Type), podCondition(after, c.Type)
		return has != nil && (c.Type == corev1.DisruptionTarget && has.Status == corev1.ConditionTrue ||
			c.Type == corev1.PodReady && had != nil && has.Status == corev1.ConditionFalse)
	}
	b.Status.Conditions = slices.DeleteFunc(slices.Clone(before.Status.Conditions), ours)
	a.Status.Conditions = slices.DeleteFunc(slices.Clone(after.Status.Conditions), ours)
	return !equality.Semantic.DeepEqual(&b, &a)
}

// nodeLost is the reason of a pod's status whose node is emptied.
const nodeLost = "NodeLost"
