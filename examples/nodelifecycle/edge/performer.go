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

// PerformerConfig is what a [Performer] needs. Nodes, Pods, Leases and Evict are
// required.
type PerformerConfig struct {
	// Nodes writes nodes, and reads them from the API server, not from a cache.
	Nodes Nodes
	// Pods returns the pod client of a namespace, which does the same.
	Pods func(namespace string) Pods
	// Leases reads the leases of the namespace kube-node-lease from the API
	// server, not from a cache.
	Leases Leases
	// Evict makes a pod leave its node.
	Evict eviction.Action
	// Record takes the Events that the controller wants recorded. Nil drops them.
	Record func(controller.Record)
	// WroteNode and WrotePod are called with each object that the API server has
	// returned, before the method of the Performer returns. They are the methods
	// Wrote of the [Handlers]. Nil means that the controller learns of its own
	// writes from the watch alone.
	WroteNode func(*corev1.Node)
	WrotePod  func(*corev1.Pod)
	// Keep is that of the informers; see [Trimming].
	Keep Keep
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
//
// Each method returns when the API server has answered; how long that may take
// is for ctx to say. Objects in the results are trimmed, as by [Trim].
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

// Actions returns the methods of the performer.
func (p *Performer) Actions() controller.Actions {
	return controller.Actions{
		ReadLeases: p.ReadLeases,
		Declare:    p.Declare,
		ChangeNode: p.ChangeNode,
		MarkPod:    p.MarkPod,
		Evict:      p.Evict,
		Record:     p.Record,
	}
}

// ReadLeases reads one lease or all. That there is none is an answer. Without a
// resourceVersion in the options what is read is as new as the request.
func (p *Performer) ReadLeases(ctx context.Context, read controller.LeaseRead) controller.Leases {
	if read.Node == nil {
		return p.listLeases(ctx)
	}
	name := read.Node.Name
	lease, err := p.config.Leases.Get(ctx, name, metav1.GetOptions{})
	switch {
	case eviction.SaysGone(err):
		return controller.Leases{Versions: map[string]string{}}
	case err != nil:
		return controller.Leases{Err: fmt.Errorf("read lease of silent node: %w", err)}
	}
	return controller.Leases{Versions: map[string]string{name: lease.ResourceVersion}}
}

func (p *Performer) listLeases(ctx context.Context) controller.Leases {
	list, err := p.config.Leases.List(ctx, metav1.ListOptions{})
	if err != nil {
		return controller.Leases{Err: fmt.Errorf("list leases of silent nodes: %w", err)}
	}
	versions := make(map[string]string, len(list.Items))
	for i := range list.Items {
		versions[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	return controller.Leases{Versions: versions}
}

// Declare writes the conditions of a silent node.
func (p *Performer) Declare(
	ctx context.Context, d controller.Declaration,
) controller.Result[*corev1.Node] {
	return p.nodeResult(p.patchNode(ctx, d.Node, d.Patch))
}

// ChangeNode writes or reads a node.
func (p *Performer) ChangeNode(
	ctx context.Context, change controller.NodeChange,
) controller.Result[*corev1.Node] {
	if change.Action != controller.NodeActionRead {
		return p.nodeResult(p.patchNode(ctx, change.Node, change.Patch))
	}
	node, err := p.config.Nodes.Get(ctx, change.Node.Name, metav1.GetOptions{})
	if err != nil {
		err = fmt.Errorf("read node after a refused write: %w", err)
	}
	return p.nodeResult(node, err)
}

// MarkPod writes or reads a pod.
func (p *Performer) MarkPod(
	ctx context.Context, mark controller.PodMark,
) controller.Result[*corev1.Pod] {
	pods, name, patch := p.config.Pods(mark.Pod.Namespace), mark.Pod.Name, mark.Patch
	if mark.Action != controller.PodActionRead {
		return p.podResult(pods.Patch(
			ctx, name, patch.Type, patch.Data, metav1.PatchOptions{}, subresources(patch)...))
	}
	pod, err := pods.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		err = fmt.Errorf("read pod after a refused write: %w", err)
	}
	return p.podResult(pod, err)
}

// Evict makes a pod leave its node.
func (p *Performer) Evict(ctx context.Context, task eviction.Task) eviction.Result {
	result := p.config.Evict(ctx, task)
	if result.Pod != nil {
		result.Pod = p.wrotePod(result.Pod)
	}
	return result
}

// Record passes an Event on.
func (p *Performer) Record(_ context.Context, event controller.Record) struct{} {
	if p.config.Record != nil {
		p.config.Record(event)
	}
	return struct{}{}
}

func (p *Performer) patchNode(
	ctx context.Context, node *corev1.Node, patch controller.Patch,
) (*corev1.Node, error) {
	return p.config.Nodes.Patch(
		ctx, node.Name, patch.Type, patch.Data, metav1.PatchOptions{}, subresources(patch)...)
}

func subresources(patch controller.Patch) []string {
	if patch.Subresource == "" {
		return nil
	}
	return []string{patch.Subresource}
}

// nodeResult returns the result of a call.
func (p *Performer) nodeResult(node *corev1.Node, err error) controller.Result[*corev1.Node] {
	if err != nil {
		return controller.Result[*corev1.Node]{Err: err}
	}
	node = trimNode(node, p.config.Keep)
	if p.config.WroteNode != nil {
		p.config.WroteNode(node)
	}
	return controller.Result[*corev1.Node]{Object: node}
}

// podResult is nodeResult for a pod.
func (p *Performer) podResult(pod *corev1.Pod, err error) controller.Result[*corev1.Pod] {
	if err != nil {
		return controller.Result[*corev1.Pod]{Err: err}
	}
	return controller.Result[*corev1.Pod]{Object: p.wrotePod(pod)}
}

func (p *Performer) wrotePod(pod *corev1.Pod) *corev1.Pod {
	pod = trimPod(pod, p.config.Keep)
	if p.config.WrotePod != nil {
		p.config.WrotePod(pod)
	}
	return pod
}
