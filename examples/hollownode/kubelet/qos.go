package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// qosClass returns the quality of service class of a pod. The API server has
// set that of a pod which it knows.
func qosClass(pod *corev1.Pod) corev1.PodQOSClass {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	var demands []corev1.ResourceRequirements
	if pod.Spec.Resources != nil {
		demands = []corev1.ResourceRequirements{*pod.Spec.Resources}
	} else {
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			demands = append(demands, c.Resources)
		}
	}
	guaranteed, asked := true, false
	for i := range demands {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, set := demands[i].Requests[name]
			limit := demands[i].Limits[name]
			asked = asked || !request.IsZero() || !limit.IsZero()
			// The API server gives a container without a request that of its limit.
			same := request.Cmp(limit) == 0 || !set
			guaranteed = guaranteed && !limit.IsZero() && same
		}
	}
	switch {
	case !asked:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}
