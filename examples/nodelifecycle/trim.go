package main

import (
	"strings"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// trim drops what the controller does not read from objects that the cache is
// about to keep. With 50 images a node and 30 pods a node that is most of it.
func trim(object any) (any, error) {
	switch object := object.(type) {
	case *corev1.Node:
		return trimNode(object), nil
	case *corev1.Pod:
		return trimPod(object), nil
	case *coordinationv1.Lease:
		object.ManagedFields = nil
	}
	return object, nil
}

// trimNode keeps the identity, labels, taints and conditions of a node.
func trimNode(node *corev1.Node) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: trimMeta(&node.ObjectMeta),
		Spec:       corev1.NodeSpec{Taints: node.Spec.Taints, Unschedulable: node.Spec.Unschedulable},
		Status:     corev1.NodeStatus{Conditions: node.Status.Conditions},
	}
}

// trimPod keeps the identity, node, tolerations and conditions of a pod.
func trimPod(pod *corev1.Pod) *corev1.Pod {
	meta := trimMeta(&pod.ObjectMeta)
	meta.Labels = nil
	return &corev1.Pod{
		ObjectMeta: meta,
		Spec:       corev1.PodSpec{NodeName: pod.Spec.NodeName, Tolerations: pod.Spec.Tolerations},
		Status:     corev1.PodStatus{Conditions: pod.Status.Conditions},
	}
}

func trimMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:         meta.Namespace,
		Name:              meta.Name,
		UID:               meta.UID,
		ResourceVersion:   meta.ResourceVersion,
		Generation:        meta.Generation,
		CreationTimestamp: meta.CreationTimestamp,
		DeletionTimestamp: meta.DeletionTimestamp,
		Labels:            meta.Labels,
	}
}

// A rival is kube-controller-manager doing the same work beside us. The managed
// fields of nodes tell: it is the manager of their taints.
type rival struct {
	logger klog.Logger
	since  time.Time
	warned atomic.Bool
}

const rivalManager = "kube-controller-manager"

func (r *rival) trim(object any) (any, error) {
	if node, ok := object.(*corev1.Node); ok && r != nil && r.wrote(node.ManagedFields) && !r.warned.Swap(true) {
		r.logger.Info("WARNING: kube-controller-manager has just changed the taints of a node: its controllers are active and will fight with this one. "+
			"Run it with --controllers=*,-node-lifecycle-controller,-taint-eviction-controller", "node", klog.KObj(node))
	}
	return trim(object)
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
