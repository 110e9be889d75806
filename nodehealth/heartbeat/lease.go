package heartbeat

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// renewedLease returns the lease to write: a new one, or a shallow copy of the
// last known one with what a beat changes. It does not change last.
//
// The holder is the node. A lease that names another holder is taken over,
// because observers of the node read this lease. The kubelet renews such a
// lease too and leaves the other name in it. The caller must ensure that only
// one process sends heartbeats of a node, for example by leader election.
func renewedLease(
	last *coordinationv1.Lease, node Node, duration time.Duration, now time.Time,
) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{}
	if last != nil {
		*lease = *last
	}
	lease.Name, lease.Namespace = node.Name, corev1.NamespaceNodeLease
	lease.OwnerReferences = leaseOwners(lease.OwnerReferences, node)
	lease.Spec.HolderIdentity = pointTo(lease.Spec.HolderIdentity, node.Name)
	lease.Spec.LeaseDurationSeconds = pointTo(lease.Spec.LeaseDurationSeconds, wholeSeconds(duration))
	lease.Spec.RenewTime = &metav1.MicroTime{Time: now}
	return lease
}

// leaseOwners makes the Node object, with its UID, an owner of the lease, so
// that the lease is deleted with the node. It removes a reference to a former
// Node of the name. Otherwise the garbage collector would delete the lease of a
// living node.
func leaseOwners(owners []metav1.OwnerReference, node Node) []metav1.OwnerReference {
	ours := func(owner metav1.OwnerReference) bool { return owner.UID == node.UID }
	namesake := func(owner metav1.OwnerReference) bool {
		return owner.Kind == "Node" && owner.APIVersion == "v1" && owner.UID != node.UID
	}
	if slices.ContainsFunc(owners, ours) && !slices.ContainsFunc(owners, namesake) {
		return owners
	}
	kept := slices.DeleteFunc(slices.Clone(owners), func(owner metav1.OwnerReference) bool {
		return ours(owner) || namesake(owner)
	})
	return append(
		kept, metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID},
	)
}

// keptLease returns what the next renewal needs of a lease. Without its managed
// fields, which an update need not repeat, it is about half as large.
func keptLease(lease *coordinationv1.Lease) *coordinationv1.Lease {
	kept := *lease
	kept.ManagedFields = nil
	return &kept
}

func wholeSeconds(d time.Duration) int32 {
	return int32((d + time.Second - 1) / time.Second)
}

// pointTo keeps the pointer when it points to the value already.
func pointTo[T comparable](pointer *T, value T) *T {
	if pointer != nil && *pointer == value {
		return pointer
	}
	return &value
}
