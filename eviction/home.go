package eviction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// home is where a pod is, and what some configs want to know of it beside that. All
// pods of a node have one home if the config asks for nothing.
type home struct {
	node     *node
	shares   []string // of the budgets by pod
	priority int32
}

// shareOf returns the function that names a pod's share of a budget.
func (t *Tracker) shareOf(b Budget) func(*pod) string {
	switch {
	case b.ByPod != nil:
		i := len(t.byPod)
		t.byPod = append(t.byPod, b.ByPod)
		return func(p *pod) string { return p.home.shares[i] }
	case b.ByNode != nil:
		i := len(t.byNode)
		t.byNode = append(t.byNode, b.ByNode)
		return func(p *pod) string { return p.home.node.shares[i] }
	}
	return nil
}

// share asks which shares of the budgets by node are those of a node.
func (t *Tracker) share(n *node, observed *corev1.Node) {
	if len(t.byNode) == 0 {
		return
	}
	shares := make([]string, len(t.byNode))
	for i, name := range t.byNode {
		shares[i] = name(observed)
	}
	if slices.Equal(n.shares, shares) {
		return
	}
	n.shares = shares
	for _, e := range n.pods {
		t.pods.reconsider(e)
	}
}

// settle finds out what the config wants to know of a pod beside the rest.
func (t *Tracker) settle(e *entry[types.UID, pod], observed *corev1.Pod) {
	if len(t.byPod) == 0 && !t.config.LowPriorityFirst {
		return
	}
	next := home{node: e.value.home.node}
	if observed.Spec.Priority != nil {
		next.priority = *observed.Spec.Priority
	}
	for _, name := range t.byPod {
		next.shares = append(next.shares, name(observed))
	}
	if now := e.value.home; now != &now.node.home && now.priority == next.priority && slices.Equal(now.shares, next.shares) {
		return
	}
	t.pods.change(e, func(p *pod) { p.home = &next })
}
