package edge

import (
	"context"
	"errors"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
)

// ErrInvalidConfig is wrapped by the errors of NewPerformer.
var ErrInvalidConfig = errors.New("invalid edge config")

// Nodes is what a [Performer] needs of a node client. The typed client of
// client-go, clientset.CoreV1().Nodes(), is one.
type Nodes interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Node, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions,
		subresources ...string) (*corev1.Node, error)
}

// Pods is what a [Performer] needs of a pod client of one namespace. The typed
// client of client-go, clientset.CoreV1().Pods(namespace), is one.
type Pods interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Pod, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions,
		subresources ...string) (*corev1.Pod, error)
}

// Leases is what a [Performer] needs of a lease client. The typed client of
// client-go, clientset.CoordinationV1().Leases(corev1.NamespaceNodeLease), is
// one.
type Leases interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*coordinationv1.Lease, error)
	List(ctx context.Context, opts metav1.ListOptions) (*coordinationv1.LeaseList, error)
}

// PerformerConfig is what a [Performer] needs. Everything but Record is
// required.
type PerformerConfig struct {
	// Nodes writes nodes, and reads them from the API server, not from a cache.
	Nodes Nodes
	// Pods returns the pod client of a namespace, which does the same.
	Pods func(namespace string) Pods
	// Leases reads the leases of the namespace kube-node-lease from the API
	// server, not from a cache.
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

// A Performer does what the controller asks for: one API call an action, and
// for an eviction as many as eviction.Action sends. It tries nothing twice,
// because the controller does: it decides again first. It is safe for
// concurrent use if what it was configured with is.
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
	case controller.ReadLease:
		return p.readLease(ctx, action.Node.Name)
	case controller.ListLeases:
		return p.listLeases(ctx)
	case controller.DeclareUnknown:
		return p.patchNode(ctx, action.Node, action.Patch)
	case controller.ReadNode:
		return p.readNode(ctx, action.Node.Name)
	case controller.PatchTaints:
		return p.patchNode(ctx, action.Node, action.Patch)
	case controller.PatchLabels:
		return p.patchNode(ctx, action.Node, action.Patch)
	case controller.ReadPod:
		return p.readPod(ctx, action.Pod)
	case controller.MarkPodNotReady:
		return p.patchPod(ctx, action.Pod, action.Patch)
	case controller.Evict:
		result := p.config.Evict(ctx, action.Task)
		if result.Pod != nil {
			result.Pod = trimPod(result.Pod)
		}
		return controller.Result{Eviction: result, Unused: result.Unspent(task.MostRequests())}
	case controller.Record:
		if p.config.Record != nil {
			p.config.Record(action)
		}
	}
	return controller.Result{}
}

// readLease reads a lease from the API server. That there is none is an answer.
func (p *Performer) readLease(ctx context.Context, name string) controller.Result {
	lease, err := p.config.Leases.Get(ctx, name, metav1.GetOptions{})
	switch {
	case eviction.SaysGone(err):
		return controller.Result{Leases: map[string]string{}}
	case err != nil:
		return controller.Result{Err: fmt.Errorf("read lease of silent node: %w", err)}
	}
	return controller.Result{Leases: map[string]string{name: lease.ResourceVersion}}
}

// listLeases reads all leases with one request. Without a resourceVersion in
// the options the list is as new as the request.
func (p *Performer) listLeases(ctx context.Context) controller.Result {
	list, err := p.config.Leases.List(ctx, metav1.ListOptions{})
	if err != nil {
		return controller.Result{Err: fmt.Errorf("list leases of silent nodes: %w", err)}
	}
	versions := make(map[string]string, len(list.Items))
	for i := range list.Items {
		versions[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	return controller.Result{Leases: versions}
}

// readNode reads a node from the API server. Without a resourceVersion in the
// options the answer is as new as the request.
func (p *Performer) readNode(ctx context.Context, name string) controller.Result {
	node, err := p.config.Nodes.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return controller.Result{Err: fmt.Errorf("read node after a refused write: %w", err)}
	}
	return controller.Result{Node: trimNode(node)}
}

// readPod is readNode for a pod.
func (p *Performer) readPod(ctx context.Context, pod *corev1.Pod) controller.Result {
	live, err := p.config.Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return controller.Result{Err: fmt.Errorf("read pod after a refused write: %w", err)}
	}
	return controller.Result{Pod: trimPod(live)}
}

func (p *Performer) patchNode(ctx context.Context, node *corev1.Node, patch controller.Patch) controller.Result {
	patched, err := p.config.Nodes.Patch(ctx, node.Name, patch.Type, patch.Data, metav1.PatchOptions{},
		subresources(patch)...)
	if err != nil {
		return controller.Result{Err: err}
	}
	return controller.Result{Node: trimNode(patched)}
}

func (p *Performer) patchPod(ctx context.Context, pod *corev1.Pod, patch controller.Patch) controller.Result {
	patched, err := p.config.Pods(pod.Namespace).
		Patch(ctx, pod.Name, patch.Type, patch.Data, metav1.PatchOptions{}, subresources(patch)...)
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
