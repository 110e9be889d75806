package shadow

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/taints"
)

// olderLabels are the labels that a controller makes equal to newer ones.
// Source: labelReconcileInfo of kube-controller-manager v1.37.
var olderLabels = [...]string{"beta.kubernetes.io/os", "beta.kubernetes.io/arch"}

func unknownFact(node *corev1.Node) Fact { return Fact{Object: nodeOf(node), Kind: FactKindUnknown} }

func labelFact(node *corev1.Node, key string) Fact {
	return Fact{Object: nodeOf(node), Kind: FactKindLabel, Detail: key}
}

// taintFact returns the fact that a node has a taint, and false for a taint
// that is not the controllers' to write.
func taintFact(node *corev1.Node, t *corev1.Taint) (Fact, bool) {
	fact := Fact{Object: nodeOf(node), Detail: t.Key}
	switch {
	case taints.OwnsNoExecute(t):
		fact.Kind = FactKindNoExecute
	case taints.OwnsNoSchedule(t):
		fact.Kind = FactKindNoSchedule
	default:
		return Fact{}, false
	}
	return fact, true
}

func podFact(pod *corev1.Pod, kind FactKind) Fact {
	return Fact{Object: Object{pod.Namespace, pod.Name, pod.UID}, Kind: kind}
}

func nodeOf(node *corev1.Node) Object { return Object{Name: node.Name, UID: node.UID} }

// declared reports whether a controller has declared a node Unknown.
func declared(node *corev1.Node) bool {
	ready := nodeCondition(node, corev1.NodeReady)
	return ready != nil && byObserver(ready)
}

// byObserver reports whether a condition was written by an observer of the node
// and not by its kubelet.
func byObserver(c *corev1.NodeCondition) bool {
	return c.Status == corev1.ConditionUnknown &&
		(c.Reason == nodehealth.ReasonStopped || c.Reason == nodehealth.ReasonNeverReported)
}

// podReady returns the status of the pod's Ready condition, empty if it has
// none.
func podReady(pod *corev1.Pod) corev1.ConditionStatus {
	if c := podCondition(pod, corev1.PodReady); c != nil {
		return c.Status
	}
	return ""
}

// byKubelet reports whether a change of a pod is its kubelet's, which is heard
// again before its node is. A controller that marks a pod not ready leaves the
// phase and the reason alone.
func byKubelet(was, is *corev1.Pod) bool {
	before, after := podCondition(was, corev1.PodReady), podCondition(is, corev1.PodReady)
	return was.Status.Phase != is.Status.Phase || before != nil && after != nil && before.Reason != after.Reason
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// evictedByOther reports whether a pod is being deleted by a taint eviction
// controller.
func evictedByOther(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && markedByOther(podCondition(pod, corev1.DisruptionTarget))
}

// markedByOther reports whether a condition DisruptionTarget is one that a
// taint eviction controller sets.
func markedByOther(c *corev1.PodCondition) bool {
	return c != nil && c.Status == corev1.ConditionTrue && c.Reason == "DeletionByTaintManager"
}
