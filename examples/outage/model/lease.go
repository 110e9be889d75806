package model

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// lease is a version of a machine's lease as the API server, caches and watches
// keep it. A long run has one for each heartbeat. As objects of the API, which
// are seven times as large, they would be a third of all that it allocates.
type lease struct {
	machine *Machine
	version string
	renewed time.Time
}

// GetName makes it an object.
func (l *lease) GetName() string { return l.machine.Name }

// GetResourceVersion makes it an object.
func (l *lease) GetResourceVersion() string { return l.version }

// leaseObject is a lease as an object of the API, in one allocation.
type leaseObject struct {
	coordinationv1.Lease
	renewed metav1.MicroTime
}

// fill makes an object show a version.
func (o *leaseObject) fill(l *lease) *coordinationv1.Lease {
	o.renewed = metav1.NewMicroTime(l.renewed)
	o.Name, o.Namespace, o.ResourceVersion = l.machine.Name, corev1.NamespaceNodeLease, l.version
	o.Spec.HolderIdentity, o.Spec.RenewTime = &l.machine.Name, &o.renewed
	return &o.Lease
}

// object returns it as an object of the API, and nil as nil.
func (l *lease) object() *coordinationv1.Lease {
	if l == nil {
		return nil
	}
	return new(leaseObject).fill(l)
}

// putLease stores a heartbeat. Each machine keeps its lease, which only its
// kubelet writes. To look it up in the store each time would be a tenth of a
// long run.
func (w *World) putLease(m *Machine) {
	m.lease = &lease{m, w.server.store.NextVersion(), m.renewTime()}
	for _, witness := range w.witnesses {
		witness.Beat(m)
	}
	w.Announce(m.leaseChange(m.lease))
}

// leaseChange is an event of a watch that shows a version of the lease.
func (m *Machine) leaseChange(l *lease) network.Change {
	return network.Change{Kind: network.Leases, Name: m.Name, Number: m.number + 1, Object: l}
}

// leaseLens is where a watch makes the objects of the API that it shows for a
// version before and one after. They are cleared when the handler and the
// witnesses have returned: if one keeps an object, it finds that empty.
type leaseLens struct{ before, after leaseObject }

var _ network.Lens = (*leaseLens)(nil)

// Show implements [network.Lens].
func (s *leaseLens) Show(before, after network.Object) (shownBefore, shownAfter network.Object) {
	if l, ok := before.(*lease); ok {
		shownBefore = s.before.fill(l)
	}
	if l, ok := after.(*lease); ok {
		shownAfter = s.after.fill(l)
	}
	return shownBefore, shownAfter
}

// Clear implements [network.Lens].
func (s *leaseLens) Clear() { *s = leaseLens{} }
