package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/evicting"
	"github.com/kubelife/lifecycle/examples/process/evicting/evictionreport"
	"github.com/kubelife/lifecycle/examples/process/shadow"
)

// performer does what the controller asks for, in bounded time, and tells about
// it in the log, in metrics and in Events.
type performer struct {
	edge    *edge.Performer
	events  *events
	metrics *metrics
}

// means is what a performer acts with.
type means struct {
	nodes interface {
		edge.Nodes
		eviction.NodeClient
	}
	pods   func(namespace string) eviction.EvictionClient
	leases edge.Leases
}

// meansOf returns what acts on a cluster through client or, if there is a
// shadow, on the shadow alone. Then only leases are read through client, and no
// method that writes is reached.
func meansOf(client kubernetes.Interface, shadowing *shadow.Shadow) means {
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	if shadowing != nil {
		return means{
			nodes:  shadowing.Nodes(),
			pods:   func(namespace string) eviction.EvictionClient { return shadowing.Pods(namespace) },
			leases: leases,
		}
	}
	return means{
		nodes:  client.CoreV1().Nodes(),
		pods:   func(namespace string) eviction.EvictionClient { return client.CoreV1().Pods(namespace) },
		leases: leases,
	}
}

// newPerformer returns what acts with what it is given. The handlers are used
// once there is an action.
func newPerformer(
	s *settings, with means, handlers *edge.Handlers, events *events, metrics *metrics,
) (*performer, error) {
	evict, err := s.Evicting.NewAction(evicting.Clients{
		Pods: with.pods, Nodes: with.nodes, NewDeletion: edge.NewDeletion,
	})
	if err != nil {
		return nil, err
	}
	acts, err := edge.NewPerformer(edge.PerformerConfig{
		Nodes:     with.nodes,
		Pods:      func(namespace string) edge.Pods { return with.pods(namespace) },
		Leases:    with.leases,
		Evict:     evict,
		Record:    events.record,
		WroteNode: func(node *corev1.Node) { handlers.Nodes.Wrote(node) },
		WrotePod:  func(pod *corev1.Pod) { handlers.Pods.Wrote(pod) },
	})
	if err != nil {
		return nil, err
	}
	return &performer{acts, events, metrics}, nil
}

func (p *performer) actions() controller.Actions {
	return controller.Actions{
		ReadLeases: process.Within(process.CallTimeout, p.readLeases),
		Declare:    process.Within(process.CallTimeout, p.declare),
		ChangeNode: process.Within(process.CallTimeout, p.changeNode),
		MarkPod:    process.Within(process.CallTimeout, p.markPod),
		Evict:      process.Within(process.CallTimeout, p.evict),
		Record:     p.edge.Record,
	}
}

func (p *performer) readLeases(ctx context.Context, read controller.LeaseRead) controller.Leases {
	leases := p.edge.ReadLeases(ctx, read)
	if read.Node != nil {
		p.tell(ctx, "read lease", klog.KObj(read.Node), leases.Err)
	} else {
		p.tell(ctx, "list leases", klog.KRef(corev1.NamespaceNodeLease, ""), leases.Err)
	}
	return leases
}

func (p *performer) declare(
	ctx context.Context, d controller.Declaration,
) controller.Result[*corev1.Node] {
	started := time.Now()
	result := p.edge.Declare(ctx, d)
	p.metrics.declareSeconds.Observe(time.Since(started).Seconds())
	p.tell(ctx, "declare unknown", klog.KObj(d.Node), result.Err)
	return result
}

func (p *performer) changeNode(
	ctx context.Context, change controller.NodeChange,
) controller.Result[*corev1.Node] {
	result := p.edge.ChangeNode(ctx, change)
	if change.Released && result.Err == nil {
		p.metrics.nodesTainted.inc(change.Zone)
	}
	if change.Action == controller.NodeActionRead && result.Err == nil {
		tellStale(ctx, "node", change.Node, result.Object)
	}
	p.tell(ctx, string(change.Action), klog.KObj(change.Node), result.Err)
	return result
}

func (p *performer) markPod(
	ctx context.Context, mark controller.PodMark,
) controller.Result[*corev1.Pod] {
	result := p.edge.MarkPod(ctx, mark)
	if mark.Action == controller.PodActionRead && result.Err == nil {
		tellStale(ctx, "pod", mark.Pod, result.Object)
	}
	p.tell(ctx, string(mark.Action), klog.KObj(mark.Pod), result.Err)
	return result
}

func (p *performer) evict(ctx context.Context, task eviction.Task) eviction.Result {
	result := p.edge.Evict(ctx, task)
	p.metrics.evicted(task, result, time.Now())
	p.tellOfEviction(ctx, task, result)
	return result
}

// tellOfEviction logs what was done. That an eviction keeps failing is an Event
// too.
func (p *performer) tellOfEviction(ctx context.Context, task eviction.Task, result eviction.Result) {
	evictionreport.Log(klog.FromContext(ctx), task, result)
	evictionreport.RecordFailure(p.events.taints, task, result)
}

// tell logs what was done, and logs and counts what failed. Evictions have lines
// and metrics of their own.
func (p *performer) tell(ctx context.Context, action string, object klog.ObjectRef, err error) {
	logger := klog.FromContext(ctx)
	if err == nil {
		logger.V(2).Info("Done", "action", action, "object", object)
		return
	}
	p.metrics.failed(action)
	if apierrors.IsNotFound(err) {
		logger.V(2).Info("Object is gone", "action", action, "object", object)
		return
	}
	logger.Error(err, "Action failed, will try again", "action", action, "object", object)
}

// tellStale logs that the API server has another version of an object than the
// cache, from which a refused write was computed.
func tellStale(ctx context.Context, kind string, cached, live metav1.Object) {
	if live.GetResourceVersion() == cached.GetResourceVersion() {
		return
	}
	klog.FromContext(ctx).Info("The cached "+kind+" is stale", kind, klog.KObj(live),
		"cachedVersion", cached.GetResourceVersion(), "version", live.GetResourceVersion())
}
