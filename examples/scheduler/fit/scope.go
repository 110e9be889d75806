package fit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The reasons for which nodes refuse pods, in the words of kube-scheduler.
const (
	ReasonUnschedulable = "node(s) were unschedulable"
	ReasonAffinity      = "node(s) didn't match Pod's node affinity/selector"
	ReasonTainted       = "node(s) had untolerated taint(s)"
	ReasonAntiAffinity  = "node(s) didn't satisfy existing pods anti-affinity rules"
	ReasonTooManyPods   = "Too many pods"
	// ReasonInsufficient is followed by the name of a resource.
	ReasonInsufficient = "Insufficient "
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

// An exclusion is a term of the required anti-affinity of a pod that another
// scheduler has placed. It keeps pods that it matches out of its topology.
type exclusion struct {
	topologyKey string
	namespaces  []string // nil: it may be any
	selector    labels.Selector
}

func exclusionsOf(pod *corev1.Pod) []exclusion {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	var exclusions []exclusion
	for _, term := range pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		if err != nil {
			selector = labels.Everything()
		}
		e := exclusion{term.TopologyKey, term.Namespaces, selector}
		if len(e.namespaces) == 0 && term.NamespaceSelector == nil {
			e.namespaces = []string{pod.Namespace}
		} else if term.NamespaceSelector != nil {
			e.namespaces = nil // the labels of namespaces are not watched
		}
		exclusions = append(exclusions, e)
	}
	return exclusions
}

func (e exclusion) matches(pod *corev1.Pod) bool {
	return (e.namespaces == nil || slices.Contains(e.namespaces, pod.Namespace)) &&
		e.selector.Matches(labels.Set(pod.Labels))
}

// Areas are parts of the cluster: the values of the nodes' labels, by topology
// key.
type Areas map[string]map[string]bool

func (a Areas) add(key, value string) {
	if a[key] == nil {
		a[key] = map[string]bool{}
	}
	a[key][value] = true
}

// Have reports whether a node is in one of the areas.
func (a Areas) Have(node *corev1.Node) bool {
	for key, values := range a {
		if value, ok := node.Labels[key]; ok && values[value] {
			return true
		}
	}
	return false
}
