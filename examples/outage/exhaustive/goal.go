package exhaustive

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

// A goal is the state of a world in the end, as a user would state it.
type goal struct {
	nodes map[string]nodeGoal
	// ready is how many pods are ready.
	ready int
}

// nodeGoal is what a node is to be in the end.
type nodeGoal struct {
	ready    corev1.ConditionStatus
	cordoned bool
	taints   []string // as key:effect, sorted
	// empty says that its pods leave. A pod whose kubelet is dead never goes.
	empty bool
}

var (
	well = nodeGoal{ready: corev1.ConditionTrue}
	dead = nodeGoal{ready: corev1.ConditionUnknown, empty: true, taints: []string{
		corev1.TaintNodeUnreachable + ":NoExecute", corev1.TaintNodeUnreachable + ":NoSchedule",
	}}
	// spared is dead like all other nodes. So its pods stay.
	spared = nodeGoal{ready: corev1.ConditionUnknown, taints: []string{
		corev1.TaintNodeUnreachable + ":NoSchedule",
	}}
	notReady = nodeGoal{ready: corev1.ConditionFalse, empty: true, taints: []string{
		corev1.TaintNodeNotReady + ":NoExecute", corev1.TaintNodeNotReady + ":NoSchedule",
	}}
	drained = nodeGoal{ready: corev1.ConditionTrue, cordoned: true, empty: true, taints: []string{
		"maintenance:NoExecute", corev1.TaintNodeUnschedulable + ":NoSchedule",
	}}
)

// missed returns what is not as it should be.
func (g *goal) missed(world *model.World) []string {
	var wrong []string
	nodes := world.Nodes()
	if len(nodes) != len(g.nodes) {
		wrong = append(wrong, fmt.Sprintf("goal: there are %d nodes, want %d", len(nodes), len(g.nodes)))
	}
	for _, node := range nodes {
		got, want := lookOf(node), g.nodes[node.Name].look()
		if got != want {
			wrong = append(wrong, fmt.Sprintf("goal: node %s is %s, want %s", node.Name, got, want))
		}
	}
	ready := 0
	for _, pod := range world.Pods() {
		isReady, leaves := model.PodReady(pod), pod.DeletionTimestamp != nil
		on, bound := g.nodes[pod.Spec.NodeName]
		if !bound || leaves != on.empty || isReady != on.runs() {
			wrong = append(wrong, fmt.Sprintf("goal: pod %s is on %q, ready: %t, leaves: %t", pod.Name, pod.Spec.NodeName,
				isReady, leaves))
		}
		if isReady {
			ready++
		}
	}
	if ready != g.ready {
		wrong = append(wrong, fmt.Sprintf("goal: %d pods are ready, want %d", ready, g.ready))
	}
	return wrong
}

// runs reports whether the node's pods are ready.
func (n nodeGoal) runs() bool { return n.ready == corev1.ConditionTrue && !n.empty }

func (n nodeGoal) look() string {
	return fmt.Sprintf("ready: %s, cordoned: %t, taints: %v", n.ready, n.cordoned, n.taints)
}

func lookOf(node *corev1.Node) string {
	look := nodeGoal{ready: model.ReadyStatus(node), cordoned: node.Spec.Unschedulable}
	for _, t := range node.Spec.Taints {
		look.taints = append(look.taints, fmt.Sprintf("%s:%s", t.Key, t.Effect))
	}
	slices.Sort(look.taints)
	return look.look()
}
