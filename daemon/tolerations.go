package daemon

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// added are the tolerations that every daemon pod gets. A node that is not
// ready or not reachable keeps its daemon pods, and one that is under pressure
// or cordoned gets them. Source: AddOrUpdateDaemonPodTolerations of Kubernetes
// v1.37.
var added = [...]corev1.Toleration{
	{
		Key:      corev1.TaintNodeNotReady,
		Operator: corev1.TolerationOpExists,
		Effect:   corev1.TaintEffectNoExecute,
	},
	{
		Key:      corev1.TaintNodeUnreachable,
		Operator: corev1.TolerationOpExists,
		Effect:   corev1.TaintEffectNoExecute,
	},
	{
		Key:      corev1.TaintNodeDiskPressure,
		Operator: corev1.TolerationOpExists,
		Effect:   corev1.TaintEffectNoSchedule,
	},
	{
		Key:      corev1.TaintNodeMemoryPressure,
		Operator: corev1.TolerationOpExists,
		Effect:   corev1.TaintEffectNoSchedule,
	},
	{
		Key:      corev1.TaintNodePIDPressure,
		Operator: corev1.TolerationOpExists,
		Effect:   corev1.TaintEffectNoSchedule,
	},
	{
		Key:      corev1.TaintNodeUnschedulable,
		Operator: corev1.TolerationOpExists,
		Effect:   corev1.TaintEffectNoSchedule,
	},
}

// addedOnHostNetwork is for pods that use the network of their node. The pods
// that configure a node's network do.
var addedOnHostNetwork = corev1.Toleration{
	Key: corev1.TaintNodeNetworkUnavailable, Operator: corev1.TolerationOpExists,
	Effect: corev1.TaintEffectNoSchedule,
}

// Tolerations returns the tolerations of a template and those that all daemon
// pods get. The latter replace those of the template for the same taints, for
// example one with a limited time. The template is not changed.
func Tolerations(spec *corev1.PodSpec) []corev1.Toleration {
	all := slices.Clone(spec.Tolerations)
	for i := range added {
		all = tolerateAlso(all, &added[i])
	}
	if spec.HostNetwork {
		all = tolerateAlso(all, &addedOnHostNetwork)
	}
	return all
}

func tolerateAlso(all []corev1.Toleration, more *corev1.Toleration) []corev1.Toleration {
	found := false
	for i := range all {
		if all[i].MatchToleration(more) {
			all[i], found = *more, true
		}
	}
	if found {
		return all
	}
	return append(all, *more)
}
