package heartbeat

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// LeaseClient reads and writes leases of one namespace. client-go's
// LeaseInterface satisfies it.
type LeaseClient interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error)
	Create(
		ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions,
	) (*coordinationv1.Lease, error)
	Update(
		ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions,
	) (*coordinationv1.Lease, error)
}

// NodeClient reads nodes and patches their status. client-go's NodeInterface
// satisfies it.
type NodeClient interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Node, error)
	Patch(
		ctx context.Context, name string, kind types.PatchType, data []byte,
		options metav1.PatchOptions, subresources ...string,
	) (*corev1.Node, error)
}

// NodeCache returns nodes without a call. The nodes are not changed. An error
// means that it does not know the node. client-go's NodeLister satisfies it.
type NodeCache interface {
	Get(name string) (*corev1.Node, error)
}
