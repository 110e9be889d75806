package fit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// Amounts are quantities by resource, CPU in thousandths.
type Amounts map[corev1.ResourceName]int64

// AmountsOf reads a list of the API.
func AmountsOf(list corev1.ResourceList) Amounts {
	a := make(Amounts, len(list))
	for name, quantity := range list {
		if name == corev1.ResourceCPU {
			a[name] = quantity.MilliValue()
		} else {
			a[name] = quantity.Value()
		}
	}
	return a
}

// RequestsOf returns what a pod takes of its node: also its place among the
// pods. A pod that is resized counts with the larger of its sizes.
func RequestsOf(pod *corev1.Pod) Amounts {
	a := AmountsOf(resource.PodRequests(pod, resource.PodResourcesOptions{
		UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}))
	a[corev1.ResourcePods] = 1
	return a
}

// Add adds b, times so often.
func (a Amounts) Add(b Amounts, times int64) {
	for name, n := range b {
		a[name] += times * n
	}
}

// Of returns the amount of one resource.
func (a Amounts) Of(name corev1.ResourceName) int64 { return a[name] }

// Lacking returns a reason for each resource of which more is wanted than is
// left. What is not wanted cannot be lacking, even where a node has too little.
func Lacking(wanted Amounts, left func(corev1.ResourceName) int64) []string {
	var reasons []string
	for name, n := range wanted {
		switch {
		case n <= 0 || left(name) >= n:
		case name == corev1.ResourcePods:
			reasons = append(reasons, ReasonTooManyPods)
		default:
			reasons = append(reasons, ReasonInsufficient+string(name))
		}
	}
	slices.Sort(reasons)
	return reasons
}
