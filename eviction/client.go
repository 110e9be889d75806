package eviction

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A PodClient is the pod client of one namespace that [Deleter] calls. The
// typed client of client-go, clientset.CoreV1().Pods(namespace), implements it.
type PodClient interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Pod, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte,
		opts metav1.PatchOptions, subresources ...string) (*corev1.Pod, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// An EvictionClient is the pod client of one namespace that [Evictor] calls.
// The typed client of client-go, clientset.CoreV1().Pods(namespace), implements
// it.
type EvictionClient interface { //nolint:revive // named as PodClient and NodeClient are
	PodClient
	EvictV1(ctx context.Context, eviction *policyv1.Eviction) error
}

// A NodeClient is the node client that [Deleter] and [Evictor] call to confirm
// an eviction.
type NodeClient interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Node, error)
}
