package network

import (
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of object that an API server has and clients watch.
type Kind uint8

// Kinds of objects. LeaderLease is the lease for which the processes of a
// controller compete: see [Lock].
const (
	Nodes Kind = iota
	Leases
	Pods
	LeaderLease
	DaemonSets
	Revisions
	kinds
)

var names = [...]string{"nodes", "leases", "pods", "leader's lease", "daemonsets", "controllerrevisions"}

// String returns the name of its resource.
func (k Kind) String() string { return names[k] }

// Resource returns its resource.
func (k Kind) Resource() schema.GroupVersionResource {
	switch k {
	case Leases, LeaderLease:
		return coordinationv1.SchemeGroupVersion.WithResource("leases")
	case DaemonSets, Revisions:
		return appsv1.SchemeGroupVersion.WithResource(k.String())
	default:
		return corev1.SchemeGroupVersion.WithResource(k.String())
	}
}

// KindOf returns the kind of a resource other than leases, and false for one
// that clients do not watch.
func KindOf(resource schema.GroupVersionResource) (Kind, bool) {
	for _, kind := range []Kind{Pods, Nodes, DaemonSets, Revisions} {
		if kind.Resource() == resource {
			return kind, true
		}
	}
	return 0, false
}

// An Object is what a server has: one of the API, a [Lock], or a smaller form
// that a [Lens] shows.
type Object interface {
	GetName() string
	GetResourceVersion() string
}

// A Lens shows an object of a smaller form as one of the API.
type Lens interface {
	// Show returns what handlers and witnesses see of two versions, of which one
	// may be nil. It is valid until Clear.
	Show(before, after Object) (shownBefore, shownAfter Object)
	Clear()
}
