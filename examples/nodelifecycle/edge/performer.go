package edge

import (
	"context"
	"errors"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/evicting"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
)

// ErrInvalidConfig is wrapped by the errors of NewPerformer.
var ErrInvalidConfig = errors.New("invalid edge config")

// Nodes is what a [Performer] needs of a node client. The typed client of
// client-go, clientset.CoreV1().Nodes(), is one.
type Nodes interface {
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*corev1.Node, error)
}

// Pods is what a [Performer] needs of a pod client of one namespace. The typed
// client of client-go, clientset.CoreV1().Pods(namespace), is one.
type Pods interface {
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*corev1.Pod, error)
}

// Leases is what a [Performer] needs of a lease client. The typed client of
// client-go, clientset.CoordinationV1().Leases(corev1.NamespaceNodeLease), is one.
type Leases interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*coordinationv1.Lease, error)
}

// PerformerConfig is what a [Performer] needs. Everything but Record is required.
type PerformerConfig struct {
	// Nodes writes nodes.
	Nodes Nodes
	// Pods returns the pod client of a namespace.
	Pods func(namespace string) Pods
	// Leases reads the leases of the namespace kube-node-lease from the API server,
	// not from a cache.
	Leases Leases
	// Evict does what controller.Evict asks for.
	Evict eviction.Action
	// Record takes the Events that the controller wants recorded. Nil drops them.
	Record func(controller.Record)
}

// Validate reports the first thing that is wrong with the config.
func (c PerformerConfig) Validate() error {
	for _, field := range []struct {
		name    string
		missing bool
	}{
		{"Nodes", c.Nodes == nil},
		{"Pods", c.Pods == nil},
		{"Leases", c.Leases == nil},
		{"Evict", c.Evict == nil},
	} {
		if field.missing {
			return fmt.Errorf("%w: PerformerConfig.%s is nil", ErrInvalidConfig, field.name)
		}
	}
	return nil
}

// A Performer does what the controller asks for: one API call an action, and for
// two of them a closer look before it. It tries nothing twice, because the
// controller does: it decides again first. It is safe for concurrent use if what
// it was configured with is.
type Performer struct {
	config PerformerConfig
}

// NewPerformer returns a Performer.
func NewPerformer(config PerformerConfig) (*Performer, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Performer{config}, nil
}

// Perform does one task and returns what the controller's Finish wants to know
// of it. It returns when the API server has answered; how long that may take is
// for ctx to say. Objects in the result are trimmed, as by [Trim].
func (p *Performer) Perform(ctx context.Context, task controller.Task) controller.Result {
	switch action := task.Action.(type) {
	case controller.DeclareUnknown:
		return p.declareUnknown(ctx, action)
	case controller.PatchTaints:
		return p.patchNode(ctx, action.Node, action.Patch)
	case controller.PatchLabels:
		return p.patchNode(ctx, action.Node, action.Patch)
	case controller.MarkPodNotReady:
		return p.patchPod(ctx, action.Pod, action.Patch)
	case controller.Evict:
		result := p.config.Evict(ctx, action.Task)
		if result.Pod != nil {
			result.Pod = trimPod(result.Pod)
		}
		return controller.Result{Eviction: result, Unused: evicting.Unused(task.MostRequests(), result)}
	case controller.Record:
		if p.config.Record != nil {
			p.config.Record(action)
		}
	}
	return controller.Result{}
}

// declareUnknown reads the node's lease first. If the API server has another
// version of it than the controller had seen when it decided, it is what the
// controller sees that is behind, and not the node. It does not help to ask our cache
// here: a heartbeat can reach it before the controller, or while the read is under
// way. A lease that the controller had not seen at all is the plainest case: the node
// has just been heard of for the first time. That the API server has none is no sign
// of life. What the read would have said when it fails nobody knows, so nothing is
// declared, and the controller asks again.
func (p *Performer) declareUnknown(ctx context.Context, action controller.DeclareUnknown) controller.Result {
	live, err := p.config.Leases.Get(ctx, action.Node.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return controller.Result{Err: fmt.Errorf("read lease of silent node: %w", err), Unused: 1}
	}
	if err == nil && action.Silent.LeaseVersion != live.ResourceVersion {
		return controller.Result{Alive: true, Unused: 1}
	}
	return p.patchNode(ctx, action.Node, action.Patch)
}

func (p *Performer) patchNode(ctx context.Context, node *corev1.Node, patch controller.Patch) controller.Result {
	patched, err := p.config.Nodes.Patch(ctx, node.Name, patch.Type, patch.Data, metav1.PatchOptions{}, subresources(patch)...)
	if err != nil {
		return controller.Result{Err: err}
	}
	return controller.Result{Node: trimNode(patched)}
}

func (p *Performer) patchPod(ctx context.Context, pod *corev1.Pod, patch controller.Patch) controller.Result {
	patched, err := p.config.Pods(pod.Namespace).Patch(ctx, pod.Name, patch.Type, patch.Data, metav1.PatchOptions{}, subresources(patch)...)
	if err != nil {
		return controller.Result{Err: err}
	}
	return controller.Result{Pod: trimPod(patched)}
}

func subresources(patch controller.Patch) []string {
	if patch.Subresource == "" {
		return nil
	}
	return []string{patch.Subresource}
}
