package scheduling

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// unsupported returns what a pod asks for that this scheduler does not
// understand, empty if there is nothing. Such a pod is not placed: it would be
// placed wrongly.
func unsupported(pod *corev1.Pod) string {
	spec := &pod.Spec
	affinity := spec.Affinity
	switch {
	case affinity != nil && affinity.PodAffinity != nil &&
		len(affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0:
		return "required inter-pod affinity"
	case affinity != nil && affinity.PodAntiAffinity != nil &&
		len(affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0:
		return "required inter-pod anti-affinity"
	case slices.ContainsFunc(spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable != corev1.ScheduleAnyway
	}):
		return "required topology spread"
	case slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return !isEverywhere(v.VolumeSource) }):
		return "volumes that depend on the node"
	case len(spec.ResourceClaims) > 0:
		return "resource claims"
	case spec.SchedulingGroup != nil:
		return "a scheduling group"
	case hasHostPort(spec.Containers) || hasHostPort(spec.InitContainers):
		return "host ports"
	}
	return ""
}

// isEverywhere reports whether a volume is the same on any node.
func isEverywhere(v corev1.VolumeSource) bool {
	return v.EmptyDir != nil || v.ConfigMap != nil || v.Secret != nil || v.Projected != nil ||
		v.DownwardAPI != nil || v.HostPath != nil || v.NFS != nil || v.Image != nil
}

func hasHostPort(containers []corev1.Container) bool {
	return slices.ContainsFunc(containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort > 0 })
	})
}
