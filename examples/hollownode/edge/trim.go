package edge

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Trim drops what no kubelet here reads from an object that a cache is about to
// keep. These are for example volumes, most labels of pods, and images of
// nodes. Managed fields go from all objects. It is the transform for the
// informers of an [Edge]. The error is always nil.
//
// The object must not be in a cache yet. The result refers to its memory, and
// an object that is not a pod is changed in place.
func Trim(object any) (any, error) {
	switch object := object.(type) {
	case *corev1.Pod:
		return trimPod(object), nil
	case *corev1.Node:
		object.Status.Images = nil
	}
	if object, ok := object.(metav1.Object); ok {
		object.SetManagedFields(nil)
	}
	return object, nil
}

// trimPod keeps the identity of a pod, its status, and what admission, syncs
// and the runtime read.
func trimPod(pod *corev1.Pod) *corev1.Pod {
	meta, spec := &pod.ObjectMeta, &pod.Spec
	trimmed := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID,
			ResourceVersion: meta.ResourceVersion, Generation: meta.Generation,
			CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
			DeletionGracePeriodSeconds: meta.DeletionGracePeriodSeconds, Annotations: meta.Annotations,
		},
		Spec: corev1.PodSpec{
			NodeName: spec.NodeName, NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations,
			HostNetwork: spec.HostNetwork, Priority: spec.Priority, ReadinessGates: spec.ReadinessGates,
			OS: spec.OS, RestartPolicy: spec.RestartPolicy, ActiveDeadlineSeconds: spec.ActiveDeadlineSeconds,
			TerminationGracePeriodSeconds: spec.TerminationGracePeriodSeconds,
			Resources:                     spec.Resources, Overhead: spec.Overhead,
			InitContainers: trimContainers(spec.InitContainers), Containers: trimContainers(spec.Containers),
		},
		Status: pod.Status,
	}
	// The decoder has left room for more.
	trimmed.Status.Conditions = slices.Clone(pod.Status.Conditions)
	if pod.Annotations[corev1.MirrorPodAnnotationKey] != "" {
		trimmed.OwnerReferences = meta.OwnerReferences // the node whose static pod it shows
	}
	if system, found := meta.Labels[corev1.LabelOSStable]; found {
		trimmed.Labels = map[string]string{corev1.LabelOSStable: system}
	}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		trimmed.Spec.Affinity = &corev1.Affinity{NodeAffinity: spec.Affinity.NodeAffinity}
	}
	return trimmed
}

// trimContainers keeps the fields of containers that the loop and the runtime
// read.
func trimContainers(containers []corev1.Container) []corev1.Container {
	var trimmed []corev1.Container
	for i := range containers {
		c := &containers[i]
		trimmed = append(trimmed, corev1.Container{
			Name: c.Name, Image: c.Image, ImagePullPolicy: c.ImagePullPolicy,
			Resources: c.Resources, Ports: c.Ports, Lifecycle: c.Lifecycle,
			RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules,
			StartupProbe: c.StartupProbe, ReadinessProbe: c.ReadinessProbe, LivenessProbe: c.LivenessProbe,
		})
	}
	return trimmed
}
