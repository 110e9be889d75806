package edge

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
)

// Keep copies to a trimmed node or pod what else of the object is to be
// kept, such as its annotations. It must not change the object.
type Keep func(kept, object metav1.Object)

// Trim drops what the controller does not read from a node, pod or lease that a
// cache is about to keep. With 50 images a node and 30 pods a node that is most
// of it. It is the transform for the informers that [Handlers] are added to.
// Other objects are returned as they are. The error is always nil.
//
// The result refers to the object's memory, and a lease is changed in place: it
// must not be in any cache yet.
func Trim(object any) (any, error) { return trim(object, nil), nil }

// Trimming returns [Trim] for a controller whose functions read more.
func Trimming(keep Keep) func(object any) (any, error) {
	return func(object any) (any, error) { return trim(object, keep), nil }
}

func trim(object any, keep Keep) any {
	switch object := object.(type) {
	case *corev1.Node:
		return trimNode(object, keep)
	case *corev1.Pod:
		return trimPod(object, keep)
	case *coordinationv1.Lease:
		object.ManagedFields = nil
	}
	return object
}

// trimNode keeps the identity, labels, taints and conditions of a node.
func trimNode(node *corev1.Node, keep Keep) *corev1.Node {
	trimmed := &corev1.Node{
		ObjectMeta: trimMeta(&node.ObjectMeta),
		Spec:       corev1.NodeSpec{Taints: node.Spec.Taints, Unschedulable: node.Spec.Unschedulable},
		Status:     corev1.NodeStatus{Conditions: node.Status.Conditions},
	}
	if keep != nil {
		keep(trimmed, node)
	}
	return trimmed
}

// trimPod keeps the identity, node, tolerations and conditions of a pod, and
// what evictions may depend on. That is its priority, its phase, whether it is
// a mirror pod and whether a DaemonSet controls it.
func trimPod(pod *corev1.Pod, keep Keep) *corev1.Pod {
	meta := trimMeta(&pod.ObjectMeta)
	meta.Labels = nil
	if eviction.IsMirrorPod(pod) {
		meta.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: pod.Annotations[corev1.MirrorPodAnnotationKey]}
	}
	if eviction.IsDaemonSetPod(pod) {
		meta.OwnerReferences = []metav1.OwnerReference{{Kind: daemonSet, Controller: ptr.To(true)}}
	}
	trimmed := &corev1.Pod{
		ObjectMeta: meta,
		Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName, Tolerations: pod.Spec.Tolerations,
			Priority: pod.Spec.Priority},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, Conditions: pod.Status.Conditions},
	}
	if keep != nil {
		keep(trimmed, pod)
	}
	return trimmed
}

// daemonSet is the kind of the owners that are kept.
const daemonSet = "DaemonSet"

func trimMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:         meta.Namespace,
		Name:              meta.Name,
		UID:               meta.UID,
		ResourceVersion:   meta.ResourceVersion,
		Generation:        meta.Generation,
		CreationTimestamp: meta.CreationTimestamp,
		DeletionTimestamp: meta.DeletionTimestamp,
		Labels:            meta.Labels,
	}
}
