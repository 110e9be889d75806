package model

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// CachedNode returns a node as a client has seen it last, or nil.
func CachedNode(c *network.Client, name string) *corev1.Node {
	return as[*corev1.Node](c.Cached(network.Nodes, name))
}

// CachedPod returns a pod as a client has seen it last, or nil.
func CachedPod(c *network.Client, name string) *corev1.Pod {
	return as[*corev1.Pod](c.Cached(network.Pods, name))
}

// CachedLease returns a lease as a client has seen it last, or nil.
func CachedLease(c *network.Client, name string) *coordinationv1.Lease {
	return as[*lease](c.Cached(network.Leases, name)).object()
}

// KnowsLease reports whether a client has been shown the latest version of the
// lease of a machine, or there is none.
func (w *World) KnowsLease(c *network.Client, machine string) bool {
	m := w.machine[machine]
	if m == nil || m.lease == nil || !c.Watches(network.Leases) {
		return true
	}
	return c.Cached(network.Leases, machine) == network.Object(m.lease)
}
