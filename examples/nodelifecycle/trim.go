package main

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
	"github.com/kubelife/lifecycle/examples/process"
)

// rivalry says what to do about kube-controller-manager.
const rivalry = "kube-controller-manager has just changed the taints of a node: its controllers are active " +
	"and will fight with this one. " +
	"Run it with --controllers=*,-node-lifecycle-controller,-taint-eviction-controller"

// trim returns the transform of informers. Before it drops the managed fields
// of nodes, the rival sees them.
func trim(rival *process.Rival) func(object any) (any, error) {
	return func(object any) (any, error) {
		if node, ok := object.(*corev1.Node); ok {
			rival.Observe(node)
		}
		return edge.Trim(object)
	}
}
