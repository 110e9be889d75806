package scheduling

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/taints"
)

// The reasons for which nodes refuse pods. Those that kube-scheduler has too
// are in its words.
const (
	ReasonUnschedulable = "node(s) were unschedulable"
	ReasonAffinity      = "node(s) didn't match Pod's node affinity/selector"
	ReasonTainted       = "node(s) had untolerated taint(s)"
	ReasonSilent        = "node(s) were silent"
	ReasonZone          = "node(s) were in a fully disrupted zone"
	ReasonAntiAffinity  = "node(s) didn't satisfy existing pods anti-affinity rules"
	ReasonTooManyPods   = "Too many pods"
	// ReasonInsufficient is followed by the name of a resource.
	ReasonInsufficient = "Insufficient "
)

// left returns how much of a resource a node has for a pod. What its pods take
// is not left, nor what nominated pods need that are at least as important.
func (n *node) left(p *pod, name corev1.ResourceName) int64 {
	left := n.allocatable[name] - n.used[name]
	for _, nominee := range n.nominees {
		if nominee != p && nominee.priority >= p.priority && nominee.on != n {
			left -= nominee.requests[name]
		}
	}
	return left
}

// free returns what a node has left of each resource that a pod requests.
func (n *node) free(p *pod) amounts {
	free := make(amounts, len(p.requests))
	for name := range p.requests {
		free[name] = n.left(p, name)
	}
	return free
}

// shortages returns why a node has no room for a pod, nil if it has.
func (n *node) shortages(p *pod) []string {
	return inWords(lacking(p.requests, func(name corev1.ResourceName) int64 { return n.left(p, name) }))
}

// mismatch returns why a pod does not belong on a node whatever leaves it,
// empty if it does.
func mismatch(p *pod, object *corev1.Node, matcher taints.Matcher) string {
	tolerations := p.object.Spec.Tolerations
	if object.Spec.Unschedulable {
		cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
		if matcher.First(tolerations, &cordon) == nil {
			return ReasonUnschedulable
		}
	}
	if fits, err := p.required.Match(object); err != nil || !fits {
		return ReasonAffinity
	}
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
		if matcher.Untolerated(object.Spec.Taints, tolerations, effect) != nil {
			return ReasonTainted
		}
	}
	return ""
}

// inWords returns the reasons for resources that are lacking.
func inWords(lacking []corev1.ResourceName) []string {
	var reasons []string
	for _, name := range lacking {
		if name == corev1.ResourcePods {
			reasons = append(reasons, ReasonTooManyPods)
		} else {
			reasons = append(reasons, ReasonInsufficient+string(name))
		}
	}
	return reasons
}

// A rank orders the nodes that fit a pod. The smaller one is better.
type rank struct {
	disrupted, stale, disliked int   // zone, heartbeat, taints PreferNoSchedule
	preferred, left            int64 // preferred affinity, free thousandths
	name                       string
}

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(r.disrupted, o.disrupted), cmp.Compare(r.stale, o.stale),
		cmp.Compare(r.disliked, o.disliked), cmp.Compare(o.preferred, r.preferred),
		cmp.Compare(o.left, r.left), cmp.Compare(r.name, o.name))
}

// leftThousandths returns which part of CPU and memory a node would have left,
// in thousandths, as the mean of both.
func leftThousandths(n *node, p *pod) int64 {
	var sum, of int64
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if all := n.allocatable[name]; all > 0 {
			sum += int64(1000 * float64(all-n.used[name]-p.requests[name]) / float64(all))
			of++
		}
	}
	return sum / max(of, 1)
}

// disliked counts the taints PreferNoSchedule that a pod does not tolerate.
func disliked(p *pod, object *corev1.Node, matcher taints.Matcher) int {
	count := 0
	for i := range object.Spec.Taints {
		taint := &object.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule &&
			matcher.First(p.object.Spec.Tolerations, taint) == nil {
			count++
		}
	}
	return count
}

func isReady(object *corev1.Node) bool {
	return slices.ContainsFunc(object.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
