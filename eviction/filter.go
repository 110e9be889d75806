package eviction

import (
	corev1 "k8s.io/api/core/v1"
)

// What follows are pods that some controllers do not evict: functions for
// [Config].Exempt. kube-controller-manager v1.37 exempts none of them. It leaves
// alone only pods that tolerate the taint, as those of DaemonSets do, and pods that
// are terminating already, which a [Tracker] never evicts either.

// AnyOf exempts a pod that one of the functions exempts.
func AnyOf(exempt ...func(*corev1.Pod) bool) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		for _, f := range exempt {
			if f(pod) {
				return true
			}
		}
		return false
	}
}

// IsMirror reports whether a pod only shows a static pod of its kubelet. To delete
// it stops nothing: the kubelet makes another one.
func IsMirror(pod *corev1.Pod) bool {
	_, is := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return is
}

// IsFinished reports whether a pod has run to its end, well or not. It uses nothing
// of its node any more, and its logs are gone when it is deleted.
func IsFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// IsOfDaemonSet reports whether a DaemonSet controls a pod. The DaemonSet would
// make another one on the same node, unless that one does not tolerate the taint.
func IsOfDaemonSet(pod *corev1.Pod) bool {
	for i := range pod.OwnerReferences {
		if owner := &pod.OwnerReferences[i]; owner.Controller != nil && *owner.Controller {
			return owner.Kind == "DaemonSet"
		}
	}
	return false
}
