package fleet

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

// A Beat is a heartbeat that the API server has stored: a renewal of a lease,
// or a status. It was stored after Sent and before Acknowledged.
type Beat struct {
	Node               string
	Sent, Acknowledged time.Time
}

// storing is a client that tells which heartbeats the API server has stored.
type storing struct {
	kubernetes.Interface
	stored func(Beat)
}

func (s storing) CoordinationV1() coordinationclient.CoordinationV1Interface {
	return storingLeases{s.Interface.CoordinationV1(), s.stored}
}

func (s storing) CoreV1() coreclient.CoreV1Interface {
	return storingNodes{s.Interface.CoreV1(), s.stored}
}

type storingLeases struct {
	coordinationclient.CoordinationV1Interface
	stored func(Beat)
}

func (l storingLeases) Leases(namespace string) coordinationclient.LeaseInterface {
	return storedLeases{l.CoordinationV1Interface.Leases(namespace), l.stored}
}

type storingNodes struct {
	coreclient.CoreV1Interface
	stored func(Beat)
}

func (n storingNodes) Nodes() coreclient.NodeInterface {
	return storedStatuses{n.CoreV1Interface.Nodes(), n.stored}
}

// storedLeases tells which renewals the API server has acknowledged.
type storedLeases struct {
	coordinationclient.LeaseInterface
	stored func(Beat)
}

func (l storedLeases) Create(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	sent := time.Now()
	written, err := l.LeaseInterface.Create(ctx, lease, options)
	tell(l.stored, lease.Name, sent, err)
	return written, err
}

func (l storedLeases) Update(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	sent := time.Now()
	written, err := l.LeaseInterface.Update(ctx, lease, options)
	tell(l.stored, lease.Name, sent, err)
	return written, err
}

// storedStatuses tells which statuses the API server has acknowledged.
type storedStatuses struct {
	coreclient.NodeInterface
	stored func(Beat)
}

func (n storedStatuses) Patch(
	ctx context.Context, name string, kind types.PatchType, data []byte,
	options metav1.PatchOptions, subresources ...string,
) (*corev1.Node, error) {
	sent := time.Now()
	written, err := n.NodeInterface.Patch(ctx, name, kind, data, options, subresources...)
	tell(n.stored, name, sent, err)
	return written, err
}

// tell calls stored for a heartbeat unless it has failed.
func tell(stored func(Beat), node string, sent time.Time, err error) {
	if stored != nil && err == nil {
		stored(Beat{Node: node, Sent: sent, Acknowledged: time.Now()})
	}
}
