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
// an object that is not a pod is changed in place. In one that is, texts are
// replaced by equal ones.
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
	unifyTexts(trimmed)
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

// unifyTexts replaces strings that most pods have in common by constants, and
// those that a pod has twice by one of them. The decoder has made a copy of
// each, 30 for a pod, which garbage collection would visit.
func unifyTexts(pod *corev1.Pod) {
	spec, status := &pod.Spec, &pod.Status
	spec.RestartPolicy, status.Phase = constant(spec.RestartPolicy), constant(status.Phase)
	status.QOSClass = constant(status.QOSClass)
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.Type, c.Status = constant(c.Type), constant(c.Status)
	}
	for i := range spec.Tolerations {
		t := &spec.Tolerations[i]
		t.Key, t.Operator, t.Effect = constant(t.Key), constant(t.Operator), constant(t.Effect)
	}
	for i := range status.HostIPs {
		unify(&status.HostIPs[i].IP, status.HostIP)
	}
	for i := range status.PodIPs {
		unify(&status.PodIPs[i].IP, status.PodIP)
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		c.ImagePullPolicy = constant(c.ImagePullPolicy)
		for j := range status.ContainerStatuses {
			unify(&status.ContainerStatuses[j].Name, c.Name)
			unify(&status.ContainerStatuses[j].Image, c.Image)
		}
	}
}

// unify makes a text refer to the memory of an equal one.
func unify(text *string, other string) {
	if *text == other {
		*text = other
	}
}

// constant returns an equal text that takes no memory, if it is a usual one.
func constant[T ~string](text T) T {
	for _, usual := range [...]string{
		string(corev1.ConditionTrue), string(corev1.ConditionFalse), string(corev1.PodReady),
		string(corev1.PodScheduled), string(corev1.PodInitialized), string(corev1.ContainersReady),
		string(corev1.PodReadyToStartContainers), string(corev1.PodRunning), string(corev1.PodPending),
		string(corev1.RestartPolicyAlways), string(corev1.PodQOSBestEffort), string(corev1.PodQOSBurstable),
		string(corev1.PullIfNotPresent), string(corev1.TolerationOpExists), string(corev1.TaintEffectNoExecute),
		corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable,
	} {
		if string(text) == usual {
			return T(usual)
		}
	}
	return text
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
