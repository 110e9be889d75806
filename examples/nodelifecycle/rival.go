package main

import (
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
)

// A rival is kube-controller-manager doing the same work next to this
// controller. The managed fields of nodes tell: it is the manager of their
// taints.
type rival struct {
	logger klog.Logger
	since  time.Time
	warned atomic.Bool
}

const rivalManager = "kube-controller-manager"

func (r *rival) trim(object any) (any, error) {
	if node, ok := object.(*corev1.Node); ok && r != nil && r.wrote(node.ManagedFields) && !r.warned.Swap(true) {
		r.logger.Info("WARNING: kube-controller-manager has just changed the taints of a node: its controllers are active "+
			"and will fight with this one. "+
			"Run it with --controllers=*,-node-lifecycle-controller,-taint-eviction-controller", "node", klog.KObj(node))
	}
	return edge.Trim(object)
}

// wrote reports whether the rival has set taints since we started.
func (r *rival) wrote(fields []metav1.ManagedFieldsEntry) bool {
	for i := range fields {
		f := &fields[i]
		if f.Manager == rivalManager && f.Time != nil && f.Time.After(r.since) && f.FieldsV1 != nil &&
			strings.Contains(f.FieldsV1.GetRawString(), `"f:taints"`) {
			return true
		}
	}
	return false
}
