package scheduling

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/scheduler/fit"
)

// The reasons for which this scheduler avoids nodes. Package fit has the
// others.
const (
	ReasonSilent = "node(s) were silent"
	ReasonZone   = "node(s) were in a fully disrupted zone"
)

// left returns how much of a resource a node has for a pod. What its pods take
// is not left, nor what nominated pods need that are at least as important.
func (n *node) left(p *pod, name corev1.ResourceName) int64 {
	left := n.allocatable[name] - n.used[name]
	for _, nominee := range n.nominees {
		if nominee != p && nominee.priority >= p.priority && nominee.on != n {
			left -= nominee.Requests[name]
		}
	}
	return left
}

// freeSoon returns what a node has left of each resource that a pod requests
// when all pods are gone that are leaving.
func (n *node) freeSoon(p *pod) fit.Amounts {
	free := make(fit.Amounts, len(p.Requests))
	for name := range p.Requests {
		free[name] = n.left(p, name)
	}
	for _, q := range n.pods {
		if q.leaving() {
			free.Add(q.Requests, 1)
		}
	}
	return free
}

// shortages returns why a node has no room for a pod, nil if it has.
func (n *node) shortages(p *pod) []string {
	return fit.Lacking(p.Requests, func(name corev1.ResourceName) int64 { return n.left(p, name) })
}

// leftThousandths returns which part of CPU and memory a node would have left,
// in thousandths, as the mean of both.
func leftThousandths(n *node, p *pod) int64 {
	var sum, of int64
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if all := n.allocatable[name]; all > 0 {
			sum += int64(1000 * float64(all-n.used[name]-p.Requests[name]) / float64(all))
			of++
		}
	}
	return sum / max(of, 1)
}

// A score orders nodes. The smaller one is better. What comes first in it
// counts more.
type score [5]int64

// before reports whether a node comes before another one, with their scores.
func (a score) before(n *node, b score, m *node) bool {
	return cmp.Or(slices.Compare(a[:], b[:]), cmp.Compare(n.name, m.name)) < 0
}

// one returns 1 for true.
func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
