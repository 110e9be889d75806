package eviction

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// setShares asks which shares of the budgets by node are those of a node. A
// share that is new takes over the tokens of the one left.
func (t *Tracker) setShares(now time.Time, n *node, observed *corev1.Node) {
	if len(t.byNode) == 0 {
		return
	}
	shares := make([]string, len(t.byNode))
	for i, b := range t.byNode {
		shares[i] = b.ByNode(observed)
	}
	if slices.Equal(n.shares, shares) {
		return
	}
	for i, b := range t.byNode {
		if n.state == present && n.shares[i] != shares[i] {
			t.evictions.InheritShare(now, b.Name, shares[i], n.shares[i])
		}
	}
	n.shares = shares
	for _, e := range n.pods {
		t.evictions.Refile(e)
	}
}

// place records what the config reads of a pod besides its node.
func (t *Tracker) place(e *entry, observed *corev1.Pod) {
	if len(t.byPod) == 0 && !t.config.LowPriorityFirst {
		return
	}
	p := e.Value()
	next := placement{node: p.placement.node}
	if observed.Spec.Priority != nil {
		next.priority = *observed.Spec.Priority
	}
	for _, b := range t.byPod {
		next.shares = append(next.shares, b.ByPod(observed))
	}
	now := p.placement
	ofNode := now == &now.node.placement
	if !ofNode && now.priority == next.priority && slices.Equal(now.shares, next.shares) {
		return
	}
	p.placement = &next
	t.evictions.Refile(e)
}
