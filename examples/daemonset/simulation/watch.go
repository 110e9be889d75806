package simulation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/daemonset/edge"
	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
)

// transformOf returns the transform of the informers of a kind, nil for sets
// and revisions. They have nothing here that it would drop.
func transformOf(kind invariant.Kind) func(metav1.Object) metav1.Object {
	if kind != invariant.Pods && kind != invariant.Nodes {
		return nil
	}
	return func(object metav1.Object) metav1.Object {
		kept, err := edge.Trim(object)
		if trimmed, ok := kept.(metav1.Object); ok && err == nil {
			return trimmed
		}
		return object
	}
}
