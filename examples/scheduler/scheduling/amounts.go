package scheduling

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// amounts are quantities by resource, CPU in thousandths.
type amounts map[corev1.ResourceName]int64

// amountsOf reads a list of the API.
func amountsOf(list corev1.ResourceList) amounts {
	a := make(amounts, len(list))
	for name, quantity := range list {
		if name == corev1.ResourceCPU {
			a[name] = quantity.MilliValue()
		} else {
			a[name] = quantity.Value()
		}
	}
	return a
}

// requestsOf returns what a pod takes of its node: also its place among the
// pods. A pod that is resized counts with the larger of its sizes.
func requestsOf(pod *corev1.Pod) amounts {
	a := amountsOf(resource.PodRequests(pod, resource.PodResourcesOptions{
		UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}))
	a[corev1.ResourcePods] = 1
	return a
}

// add adds b, times so often.
func (a amounts) add(b amounts, times int64) {
	for name, n := range b {
		a[name] += times * n
	}
}

// of returns the amount of one resource.
func (a amounts) of(name corev1.ResourceName) int64 { return a[name] }

// lacking returns the resources of which more is wanted than is left, by name.
// What is not wanted cannot be lacking, even where a node has too little.
func lacking(wanted amounts, left func(corev1.ResourceName) int64) []corev1.ResourceName {
	var names []corev1.ResourceName
	for name, n := range wanted {
		if n > 0 && left(name) < n {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
