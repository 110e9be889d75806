package fit

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kubelife/lifecycle/taints"
)

// A Pod is a pod as far as it matters for where it fits. It does not change.
type Pod struct {
	// Requests are what it takes of its node.
	Requests Amounts
	// Unsupported is what it asks for and this package does not understand, empty
	// if there is nothing. Such a pod fits nowhere for sure.
	Unsupported string

	tolerations []corev1.Toleration
	required    nodeaffinity.RequiredNodeAffinity
	preferred   *nodeaffinity.PreferredSchedulingTerms // nil: none
	exclusions  []exclusion
}

// Compile reads a pod. One that has a node is not asked where it fits, so that
// only what it takes of its node and its anti-affinity are read.
func Compile(pod *corev1.Pod) Pod {
	p := Pod{Requests: RequestsOf(pod), exclusions: exclusionsOf(pod)}
	if pod.Spec.NodeName != "" {
		return p
	}
	p.Unsupported = unsupported(pod)
	p.tolerations = pod.Spec.Tolerations
	p.required = nodeaffinity.GetRequiredNodeAffinity(pod)
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		// A term that does not parse is ignored: it is a preference.
		p.preferred, _ = nodeaffinity.NewPreferredSchedulingTerms(
			a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return p
}

// Mismatch returns why the pod does not belong on a node whatever leaves it,
// empty if it does.
func (p *Pod) Mismatch(node *corev1.Node, matcher taints.Matcher) string {
	if node.Spec.Unschedulable {
		cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
		if matcher.First(p.tolerations, &cordon) == nil {
			return ReasonUnschedulable
		}
	}
	if fits, err := p.required.Match(node); err != nil || !fits {
		return ReasonAffinity
	}
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
		if matcher.Untolerated(node.Spec.Taints, p.tolerations, effect) != nil {
			return ReasonTainted
		}
	}
	return ""
}

// Preferred returns the weight of the preferred node affinity that a node
// matches.
func (p *Pod) Preferred(node *corev1.Node) int64 {
	if p.preferred == nil {
		return 0
	}
	return p.preferred.Score(node)
}

// Disliked counts the taints PreferNoSchedule that the pod does not tolerate.
func (p *Pod) Disliked(node *corev1.Node, matcher taints.Matcher) int {
	count := 0
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule && matcher.First(p.tolerations, taint) == nil {
			count++
		}
	}
	return count
}

// Excludes reports whether the pod keeps others out of its topology.
func (p *Pod) Excludes() bool { return len(p.exclusions) > 0 }

// Bar adds the areas out of which the pod, which is on a node, keeps another
// one. Nodes are then asked with one lookup each, however many pods bar them.
func (p *Pod) Bar(areas Areas, other *corev1.Pod, node *corev1.Node) {
	for _, e := range p.exclusions {
		if value, ok := node.Labels[e.topologyKey]; ok && e.matches(other) {
			areas.add(e.topologyKey, value)
		}
	}
}
