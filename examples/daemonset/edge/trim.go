package edge

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Trim drops what the controller does not read from an object that a cache is
// about to keep. It is the transform for the informers that the handlers are
// added to. Of pods and nodes little is left. Other objects lose their managed
// fields only. The error is always nil.
//
// What it returns shares memory with the object, and sets and revisions are
// changed in place: they must not be in any cache yet.
func Trim(object any) (any, error) {
	switch object := object.(type) {
	case *corev1.Pod:
		return trimPod(object), nil
	case *corev1.Node:
		return trimNode(object), nil
	case *appsv1.ControllerRevision:
		object.ManagedFields = nil
		if controller := metav1.GetControllerOfNoCopy(object); controller != nil && controller.Kind == "StatefulSet" {
			object.Data.Raw = nil
		}
	default:
		if accessor, err := meta.Accessor(object); err == nil {
			accessor.SetManagedFields(nil)
		}
	}
	return object, nil
}

// trimPod keeps the identity, labels and owners of a pod, its node or what says
// which node it is for, its phase and its readiness.
func trimPod(pod *corev1.Pod) *corev1.Pod {
	trimmed := &corev1.Pod{ObjectMeta: trimMeta(&pod.ObjectMeta)}
	trimmed.OwnerReferences = pod.OwnerReferences
	trimmed.Spec.NodeName = pod.Spec.NodeName
	if pod.Spec.NodeName == "" && pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil {
		trimmed.Spec.Affinity = &corev1.Affinity{NodeAffinity: pod.Spec.Affinity.NodeAffinity}
	}
	trimmed.Status.Phase = pod.Status.Phase
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			trimmed.Status.Conditions = []corev1.PodCondition{pod.Status.Conditions[i]}
		}
	}
	return trimmed
}

// trimNode keeps the identity, labels, annotations, taints and readiness of a
// node.
func trimNode(node *corev1.Node) *corev1.Node {
	trimmed := &corev1.Node{ObjectMeta: trimMeta(&node.ObjectMeta)}
	trimmed.Annotations = node.Annotations
	trimmed.Spec = corev1.NodeSpec{Taints: node.Spec.Taints, Unschedulable: node.Spec.Unschedulable}
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			trimmed.Status.Conditions = []corev1.NodeCondition{node.Status.Conditions[i]}
		}
	}
	return trimmed
}

func trimMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:         meta.Namespace,
		Name:              meta.Name,
		UID:               meta.UID,
		ResourceVersion:   meta.ResourceVersion,
		CreationTimestamp: meta.CreationTimestamp,
		DeletionTimestamp: meta.DeletionTimestamp,
		Labels:            meta.Labels,
	}
}
