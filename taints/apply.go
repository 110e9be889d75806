package taints

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// NodeClient is the part of a node client that [Apply] calls. The typed client
// of client-go, clientset.CoreV1().Nodes(), satisfies it.
type NodeClient interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Node, error)
	Patch(
		ctx context.Context, name string, pt types.PatchType, data []byte,
		opts metav1.PatchOptions, subresources ...string,
	) (*corev1.Node, error)
}

// ErrUIDMismatch means that the node was deleted and created again under its
// name since the change was computed.
var ErrUIDMismatch = errors.New("node was replaced by another of the same name")

// Apply gives a node the taints that want returns for it, and returns the
// updated node. When want returns the taints that the node has, Apply makes no
// call and returns the node that it was given. Otherwise it sends one patch.
//
// When another client has changed the taints in the meantime, Apply reads the
// node, calls want again and retries. It makes up to five attempts in less than
// a second, with a growing pause that begins with 10 to 20 ms. So want must
// depend on the node alone and must not change it.
//
// Errors of the API are returned wrapped. A deleted node is NotFound, and a
// recreated one is [ErrUIDMismatch]. If the fifth attempt meets another change,
// Apply returns that failure, for which [IsStale] is true.
func Apply(
	ctx context.Context, nodes NodeClient, node *corev1.Node, want func(*corev1.Node) []corev1.Taint,
) (*corev1.Node, error) {
	// The wide jitter separates writers that have collided. At 5 ms a request, 40
	// of them need 380 requests with it, and 650 with a jitter of 0.2.
	backoff := wait.Backoff{Duration: 10 * time.Millisecond, Factor: 3, Jitter: 1, Steps: 5}
	name, uid := node.Name, node.UID
	for {
		patched, err := applyOnce(ctx, nodes, node, want)
		if err == nil {
			return patched, nil
		}
		if !IsStale(err) || backoff.Steps <= 1 {
			return nil, fmt.Errorf("patch taints of node %s: %w", name, err)
		}
		if err := pause(ctx, backoff.Step()); err != nil {
			return nil, fmt.Errorf("patch taints of node %s: %w", name, err)
		}
		if node, err = nodes.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return nil, fmt.Errorf("read node %s again after its taints had changed: %w", name, err)
		}
		if node.UID != uid {
			return nil, fmt.Errorf("node %s: %w", name, ErrUIDMismatch)
		}
	}
}

func applyOnce(
	ctx context.Context, nodes NodeClient, node *corev1.Node, want func(*corev1.Node) []corev1.Taint,
) (*corev1.Node, error) {
	next := want(node)
	if Equal(next, node.Spec.Taints) {
		return node, nil
	}
	patch, err := Patch(node, next)
	if err != nil {
		return nil, err
	}
	return nodes.Patch(ctx, node.Name, PatchType, patch, metav1.PatchOptions{})
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
