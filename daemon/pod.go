package daemon

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodOn returns the pod that a DaemonSet has on a node, as if it were scheduled
// there already. It is for callers that count or simulate: an autoscaler fills
// the nodes that it might add, and a scheduler reserves room for the pod. It
// does not ask whether the pod belongs there, which [Placement.Place] says.
//
// The pod is owned by the set and has the labels of the template. It has no
// name, no UID and no revision, because the API server has no such pod. A caller
// that keeps pods by name or UID sets them. The set is not changed.
func PodOn(set *appsv1.DaemonSet, node *corev1.Node) *corev1.Pod {
	template := &set.Spec.Template
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   set.Namespace,
			Labels:      maps.Clone(template.Labels),
			Annotations: maps.Clone(template.Annotations),
			Finalizers:  slices.Clone(template.Finalizers),
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet")),
			},
		},
		Spec: PodSpecFor(template, node.Name),
	}
	pod.Spec.NodeName = node.Name
	return pod
}

// PodSpecFor returns the spec of a pod that is created for a node and not
// scheduled yet. It is a copy of the template's spec with the [Tolerations] of
// daemon pods. The required node affinity is replaced by the name of the node,
// which was chosen by that affinity. The node may have changed since. The
// scheduler would then leave the pod pending where a running one may stay.
func PodSpecFor(template *corev1.PodTemplateSpec, node string) corev1.PodSpec {
	spec := *template.Spec.DeepCopy()
	spec.Tolerations = Tolerations(&spec)
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{
				Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
			}},
		}},
	}
	return spec
}

// TargetNode returns the node that a pod is for. That is the node that it was
// scheduled to or, before that, the one in its required node affinity, as
// [PodSpecFor] sets it. It is empty if the affinity names no node. TargetNode
// allocates nothing.
func TargetNode(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	required := requiredAffinity(&pod.Spec)
	if required == nil {
		return ""
	}
	for i := range required.NodeSelectorTerms {
		fields := required.NodeSelectorTerms[i].MatchFields
		for j := range fields {
			if fields[j].Key != metav1.ObjectNameField || fields[j].Operator != corev1.NodeSelectorOpIn {
				continue
			}
			if len(fields[j].Values) != 1 {
				return ""
			}
			return fields[j].Values[0]
		}
	}
	return ""
}
