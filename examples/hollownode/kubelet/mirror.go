package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mirror is what a node knows of a mirror pod in the API.
type mirror struct {
	pod *corev1.Pod
	// deleted tells that the API server no longer has it, and the watch has not
	// shown that yet.
	deleted bool
}

// of returns the mirror pod if it shows this static pod of this node, else nil.
// That of a former node of the name is owned by another object.
func (m *mirror) of(static *corev1.Pod, node *corev1.Node) *corev1.Pod {
	if m == nil || m.deleted || node == nil {
		return nil
	}
	owner := metav1.GetControllerOfNoCopy(m.pod)
	if owner == nil || owner.UID != node.UID ||
		m.pod.Annotations[corev1.MirrorPodAnnotationKey] != static.Annotations[annotationHash] {
		return nil
	}
	return m.pod
}

// mirrorAction is what the API server lacks of a mirror pod.
type mirrorAction uint8

const (
	mirrorKept mirrorAction = iota
	mirrorMissing
	mirrorUnwanted
)

// String returns the name of the action.
func (a mirrorAction) String() string { return [...]string{"kept", "missing", "unwanted"}[a] }

// decideMirror returns what to do about a mirror pod. Static is the pod that it
// must show, nil is none. While a former static pod of the name is ending,
// nothing is done. Source: tryReconcileMirrorPods and HandlePodCleanups,
// v1.37.1.
func decideMirror(m *mirror, static *corev1.Pod, ending bool, node *corev1.Node) mirrorAction {
	present := m != nil && !m.deleted
	switch {
	case ending:
		return mirrorKept
	case static == nil && present:
		return mirrorUnwanted
	case static == nil:
		return mirrorKept
	case present && (m.pod.DeletionTimestamp != nil || m.of(static, node) == nil):
		return mirrorUnwanted
	case !present && node.DeletionTimestamp == nil:
		return mirrorMissing
	default:
		return mirrorKept
	}
}

// seeded returns a static pod with the status from which its kubelet goes on.
// That is the one of its mirror, if it has one. A final phase counts only if
// containers have ended and none runs. Another client may have written it, and
// a pod that was rejected is admitted again.
func seeded(static, mirror *corev1.Pod) *corev1.Pod {
	pod := *static
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	if mirror == nil {
		return &pod
	}
	pod.Status = mirror.Status
	ended, running := 0, 0
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if list[i].State.Terminated != nil {
				ended++
			}
			if list[i].State.Running != nil {
				running++
			}
		}
	}
	endless := pod.Spec.RestartPolicy == corev1.RestartPolicyAlways && pod.Spec.ActiveDeadlineSeconds == nil
	if isTerminal(pod.Status.Phase) && (ended == 0 || running > 0 || endless) {
		pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodPending, "", ""
	}
	return &pod
}
