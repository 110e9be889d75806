package rollout

import corev1 "k8s.io/api/core/v1"

// A Policy is what a set says about nodes in a rollout, besides its [Strategy]:
// their order, its canaries, and which nodes without an available pod do not
// count. DaemonSets have none. Embed [DefaultPolicy] to say only one of these.
// The methods must depend on nothing but the Policy and their arguments.
//
// [Planner.SetSpec] compares a Policy with the former one by its data. So let it
// be a struct of data, for example of a label selector. A struct with functions
// equals none but itself, behind the same pointer.
type Policy interface {
	// Less reports whether a node comes before another: which one gets its first
	// pod, or its new one, first. Equal nodes come by their names.
	//
	// Nodes for which a call was refused come last. So do ignored nodes whose
	// available pod a rollout may take. While calls are refused, names do not
	// count, and outside of a rollout Less does not either. The next try is then
	// less likely for a neighbor with the same fault.
	Less(a, b *corev1.Node) bool
	// Eligible reports whether a rollout may replace the pod of a node, for
	// example of canaries that carry a label.
	Eligible(node *corev1.Node) bool
	// Ignores reports whether a node without an available pod does not count
	// against MaxUnavailable, or against MaxSurge where its new pod waits next to
	// the old one. For example, the rollout is not the cause, and to wait for the
	// node does not help. The pod is nil if the node has none that stays.
	//
	// It does not decide about a node whose available pod the rollout has deleted.
	// That one counts until it has an available pod again, so that a rollout never
	// takes more available pods than MaxUnavailable. A new Planner does not know
	// these nodes.
	Ignores(node *corev1.Node, pod *corev1.Pod) bool
}

// DefaultPolicy is that of a set without a Policy: nodes go by their names, all
// are eligible, and all count.
type DefaultPolicy struct{}

// Less implements [Policy].
func (DefaultPolicy) Less(_, _ *corev1.Node) bool { return false }

// Eligible implements [Policy].
func (DefaultPolicy) Eligible(*corev1.Node) bool { return true }

// Ignores implements [Policy].
func (DefaultPolicy) Ignores(*corev1.Node, *corev1.Pod) bool { return false }

// IgnoreNotReadyNodes is a [Policy] with which nodes that are not ready do not
// count: a rollout goes on while some nodes are down. It also goes on when most
// are, or when the control plane only believes so. If the rollout itself makes
// nodes not ready, as one of a network plugin may, those count.
type IgnoreNotReadyNodes struct{ DefaultPolicy }

// Ignores implements [Policy].
func (IgnoreNotReadyNodes) Ignores(node *corev1.Node, _ *corev1.Pod) bool {
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		if c.Type == corev1.NodeReady {
			return c.Status != corev1.ConditionTrue
		}
	}
	return true
}
