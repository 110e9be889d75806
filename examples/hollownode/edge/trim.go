package edge

import (
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Trimmer drops what no kubelet here reads from objects that caches are about
// to keep. What many of them have in common is kept once. Its zero value is
// ready. It is not safe for concurrent use.
type Trimmer struct {
	// specs are without the name of a node.
	specs      kept[corev1.PodSpec]
	conditions kept[[]corev1.PodCondition]
	resources  kept[corev1.ResourceList]
	// spec, status and list are room for what is encoded of one object.
	spec   corev1.PodSpec
	status corev1.PodStatus
	list   corev1.NodeStatus
}

// Trim drops for example volumes, labels of pods, and images of nodes.
// Managed fields go from all objects. It is the transform for the informers of
// an [Edge]. The error is always nil.
//
// The object must not be in a cache yet. The result refers to its memory and to
// that of former results, so none may be changed. An object that is not a pod
// is changed in place. In one that is, texts are replaced by equal ones.
func (t *Trimmer) Trim(object any) (any, error) {
	switch object := object.(type) {
	case *corev1.Pod:
		return t.trimPod(object), nil
	case *corev1.Node:
		t.trimNode(object)
	}
	if object, ok := object.(metav1.Object); ok {
		object.SetManagedFields(nil)
	}
	return object, nil
}

// trimPod keeps the identity of a pod, its status, and what admission, syncs
// and the runtime read.
func (t *Trimmer) trimPod(pod *corev1.Pod) *corev1.Pod {
	meta := &pod.ObjectMeta
	trimmed := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: common(meta.Namespace), Name: meta.Name, UID: meta.UID,
			ResourceVersion: meta.ResourceVersion, Generation: meta.Generation,
			CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
			DeletionGracePeriodSeconds: meta.DeletionGracePeriodSeconds, Annotations: meta.Annotations,
		},
		Spec: t.trimSpec(&pod.Spec), Status: pod.Status,
	}
	trimmed.Status.Conditions = t.trimConditions(pod.Status.Conditions)
	if pod.Annotations[corev1.MirrorPodAnnotationKey] != "" {
		trimmed.OwnerReferences = meta.OwnerReferences // the node whose static pod it shows
	}
	return trimmed
}

// trimSpec returns what is kept of a spec. The pods of one template have all of
// it in common, except the node.
func (t *Trimmer) trimSpec(spec *corev1.PodSpec) corev1.PodSpec {
	t.spec = corev1.PodSpec{
		NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations,
		HostNetwork: spec.HostNetwork, Priority: spec.Priority, ReadinessGates: spec.ReadinessGates,
		RestartPolicy: spec.RestartPolicy, ActiveDeadlineSeconds: spec.ActiveDeadlineSeconds,
		TerminationGracePeriodSeconds: spec.TerminationGracePeriodSeconds,
		Resources:                     spec.Resources, Overhead: spec.Overhead,
		InitContainers: trimContainers(t.spec.InitContainers[:0], spec.InitContainers),
		Containers:     trimContainers(t.spec.Containers[:0], spec.Containers),
	}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		t.spec.Affinity = &corev1.Affinity{NodeAffinity: spec.Affinity.NodeAffinity}
	}
	trimmed := *t.specs.of(&t.spec, func() corev1.PodSpec {
		kept := t.spec
		kept.InitContainers, kept.Containers = withoutRoom(kept.InitContainers), withoutRoom(kept.Containers)
		return kept
	})
	trimmed.NodeName = common(spec.NodeName)
	return trimmed
}

// trimConditions returns conditions without the room for more that the decoder
// has left. Pods that start in the same second have equal ones.
func (t *Trimmer) trimConditions(list []corev1.PodCondition) []corev1.PodCondition {
	t.status.Conditions = list
	return *t.conditions.of(&t.status, func() []corev1.PodCondition {
		return withoutRoom(list)
	})
}

// withoutRoom returns a copy of a list, and nil of an empty one.
func withoutRoom[T any](list []T) []T { return slices.Clip(append([]T(nil), list...)) }

// trimNode changes a node to what is kept of it.
func (t *Trimmer) trimNode(node *corev1.Node) {
	status := &node.Status
	status.Images = nil
	status.Capacity = t.trimResources(status.Capacity)
	status.Allocatable = t.trimResources(status.Allocatable)
	node.Name = common(node.Name)
	if len(node.Labels) > 0 {
		labels := make(map[string]string, len(node.Labels))
		for key, value := range node.Labels {
			labels[common(key)] = common(value)
		}
		node.Labels = labels
	}
	for i := range status.Addresses {
		a := &status.Addresses[i]
		a.Type, a.Address = common(a.Type), common(a.Address)
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.Type, c.Status = common(c.Type), common(c.Status)
		c.Reason, c.Message = common(c.Reason), common(c.Message)
	}
	info := &status.NodeInfo
	for _, text := range []*string{
		&info.KernelVersion, &info.OSImage, &info.OperatingSystem, &info.Architecture,
		&info.ContainerRuntimeVersion, &info.KubeletVersion,
	} {
		*text = common(*text)
	}
}

// trimResources returns the one list for all that are equal.
func (t *Trimmer) trimResources(list corev1.ResourceList) corev1.ResourceList {
	t.list.Capacity = list
	return *t.resources.of(&t.list, func() corev1.ResourceList { return list })
}

// common returns the one text of its kind for all that are equal.
func common[T ~string](text T) T { return T(unique.Make(string(text)).Value()) }

// trimContainers appends containers with the fields that the loop and the
// runtime read.
func trimContainers(to, containers []corev1.Container) []corev1.Container {
	for i := range containers {
		c := &containers[i]
		to = append(to, corev1.Container{
			Name: c.Name, Image: c.Image, ImagePullPolicy: c.ImagePullPolicy,
			Resources: c.Resources, Ports: c.Ports, Lifecycle: c.Lifecycle,
			RestartPolicy: c.RestartPolicy,
			StartupProbe:  c.StartupProbe, ReadinessProbe: c.ReadinessProbe, LivenessProbe: c.LivenessProbe,
		})
	}
	return to
}
