package eviction

import (
	corev1 "k8s.io/api/core/v1"
)

// The functions below are for [Config].Exempt: pods that some controllers do
// not evict. kube-controller-manager v1.37 exempts none of them.

// IsMirrorPod reports whether a pod mirrors a static pod of its kubelet.
// Deleting it stops nothing, because the kubelet creates another mirror pod.
func IsMirrorPod(pod *corev1.Pod) bool {
	_, is := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return is
}

// IsTerminal reports whether a pod has succeeded or failed. It uses no
// resources of its node any more, and deleting it deletes its logs.
func IsTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// IsDaemonSetPod reports whether a DaemonSet controls a pod. The DaemonSet
// would create another pod on the same node if it tolerates the taint.
func IsDaemonSetPod(pod *corev1.Pod) bool {
	for i := range pod.OwnerReferences {
		if owner := &pod.OwnerReferences[i]; owner.Controller != nil && *owner.Controller {
			return owner.Kind == "DaemonSet"
		}
	}
	return false
}
