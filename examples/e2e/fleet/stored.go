package fleet

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// A Beat is a heartbeat that the API server has stored: a renewal of a lease,
// or a status. It was stored after Sent and before Acknowledged.
type Beat struct {
	Node               string
	Sent, Acknowledged time.Time
}

// storedLeases tells which renewals the API server has acknowledged.
type storedLeases struct {
	heartbeat.LeaseClient
	stored func(Beat)
}

func (l storedLeases) Create(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	sent := time.Now()
	written, err := l.LeaseClient.Create(ctx, lease, options)
	tell(l.stored, lease.Name, sent, err)
	return written, err
}

func (l storedLeases) Update(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	sent := time.Now()
	written, err := l.LeaseClient.Update(ctx, lease, options)
	tell(l.stored, lease.Name, sent, err)
	return written, err
}

// storedStatuses tells which statuses the API server has acknowledged.
type storedStatuses struct {
	heartbeat.NodeClient
	stored func(Beat)
}

func (n storedStatuses) Patch(
	ctx context.Context, name string, kind types.PatchType, data []byte,
	options metav1.PatchOptions, subresources ...string,
) (*corev1.Node, error) {
	sent := time.Now()
	written, err := n.NodeClient.Patch(ctx, name, kind, data, options, subresources...)
	tell(n.stored, name, sent, err)
	return written, err
}

func tell(stored func(Beat), node string, sent time.Time, err error) {
	if stored != nil && err == nil {
		stored(Beat{Node: node, Sent: sent, Acknowledged: time.Now()})
	}
}
