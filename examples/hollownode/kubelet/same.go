package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sameStatus reports whether two statuses differ in nothing that the kubelet
// writes. Conditions of other clients do not count, and neither do claims of
// resources. Source: isPodStatusByKubeletEqual in pkg/kubelet/status, v1.37.1.
//
// Each sync and each event of a pod asks for it. Reflection takes a hundred
// times as long, so it is only for fields that are seldom set.
func sameStatus(a, b *corev1.PodStatus) bool {
	if a.Phase != b.Phase || !sameConditions(a.Conditions, b.Conditions) {
		return false
	}
	if isUsual(a) && isUsual(b) {
		return sameUsual(a, b)
	}
	first, second := *a, *b
	for _, s := range []*corev1.PodStatus{&first, &second} {
		s.Conditions, s.ResourceClaimStatuses, s.ExtendedResourceClaimStatus = nil, nil, nil
		s.NodeAllocatableResourceClaimStatuses = nil
	}
	return equality.Semantic.DeepEqual(&first, &second)
}

// isUsual reports whether a status has no other fields that count than those
// that sameUsual compares.
func isUsual(s *corev1.PodStatus) bool {
	return s.NominatedNodeName == "" && len(s.EphemeralContainerStatuses) == 0 && s.Resize == "" &&
		len(s.AllocatedResources) == 0 && s.Resources == nil && len(s.VolumeHealth) == 0 &&
		areUsual(s.InitContainerStatuses) && areUsual(s.ContainerStatuses)
}

func areUsual(list []corev1.ContainerStatus) bool {
	for i := range list {
		c := &list[i]
		if len(c.AllocatedResources) > 0 || c.Resources != nil || len(c.VolumeMounts) > 0 || c.User != nil ||
			len(c.AllocatedResourcesStatus) > 0 || c.StopSignal != nil {
			return false
		}
	}
	return true
}

// sameUsual compares what statuses usually have, except phase and conditions.
func sameUsual(a, b *corev1.PodStatus) bool {
	return a.Reason == b.Reason && a.Message == b.Message && a.HostIP == b.HostIP && a.PodIP == b.PodIP &&
		a.QOSClass == b.QOSClass && a.ObservedGeneration == b.ObservedGeneration && a.StartTime.Equal(b.StartTime) &&
		sameList(a.HostIPs, b.HostIPs, sameValue) && sameList(a.PodIPs, b.PodIPs, sameValue) &&
		sameList(a.InitContainerStatuses, b.InitContainerStatuses, sameContainer) &&
		sameList(a.ContainerStatuses, b.ContainerStatuses, sameContainer)
}

func sameContainer(a, b *corev1.ContainerStatus) bool {
	return a.Name == b.Name && a.Ready == b.Ready && a.RestartCount == b.RestartCount && a.Image == b.Image &&
		a.ImageID == b.ImageID && a.ContainerID == b.ContainerID && samePointer(a.Started, b.Started, sameValue) &&
		sameState(&a.State, &b.State) && sameState(&a.LastTerminationState, &b.LastTerminationState)
}

func sameState(a, b *corev1.ContainerState) bool {
	return samePointer(a.Waiting, b.Waiting, sameValue) &&
		samePointer(a.Running, b.Running, func(a, b *corev1.ContainerStateRunning) bool {
			return a.StartedAt.Equal(&b.StartedAt)
		}) &&
		samePointer(a.Terminated, b.Terminated, func(a, b *corev1.ContainerStateTerminated) bool {
			first, second := *a, *b
			first.StartedAt, second.StartedAt = metav1.Time{}, metav1.Time{}
			first.FinishedAt, second.FinishedAt = metav1.Time{}, metav1.Time{}
			return first == second && a.StartedAt.Equal(&b.StartedAt) && a.FinishedAt.Equal(&b.FinishedAt)
		})
}

func sameValue[T comparable](a, b *T) bool { return *a == *b }

func samePointer[T any](a, b *T, same func(a, b *T) bool) bool {
	return a == b || a != nil && b != nil && same(a, b)
}

func sameList[T any](a, b []T, same func(a, b *T) bool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !same(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

// sameConditions reports whether two lists have the same conditions of the
// kubelet, in the same order.
func sameConditions(a, b []corev1.PodCondition) bool {
	for {
		a, b = fromOwn(a), fromOwn(b)
		if len(a) == 0 || len(b) == 0 {
			return len(a) == len(b)
		}
		x, y := &a[0], &b[0]
		if x.Type != y.Type || x.Status != y.Status || x.Reason != y.Reason || x.Message != y.Message ||
			x.ObservedGeneration != y.ObservedGeneration || !x.LastProbeTime.Equal(&y.LastProbeTime) ||
			!x.LastTransitionTime.Equal(&y.LastTransitionTime) {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

// fromOwn returns the rest of a list from the first condition of the kubelet.
func fromOwn(list []corev1.PodCondition) []corev1.PodCondition {
	for len(list) > 0 && !isOwnCondition(list[0].Type) {
		list = list[1:]
	}
	return list
}
