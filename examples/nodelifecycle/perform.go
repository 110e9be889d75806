package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// newPerformer returns what acts with what it is given.
func newPerformer(s *settings, with means, events *events, metrics *metrics) (*performer, error) {
	evict, err := s.Evicting.NewAction(evicting.Clients{
		Pods: with.pods, Nodes: with.nodes, NewDeletion: edge.NewDeletion,
	})
	if err != nil {
		return nil, err
	}
	acts, err := edge.NewPerformer(edge.PerformerConfig{
		Nodes:  with.nodes,
		Pods:   func(namespace string) edge.Pods { return with.pods(namespace) },
		Leases: with.leases,
		Evict:  evict,
		Record: events.record,
	})
	if err != nil {
		return nil, err
	}
	return &performer{acts, events, metrics}, nil
}

func (p *performer) perform(ctx context.Context, task controller.Task) controller.Result {
	ctx, cancel := context.WithTimeout(ctx, process.CallTimeout)
	defer cancel()
	started := time.Now()
	result := p.edge.Perform(ctx, task)
	p.metrics.performed(task.Action, result, started, time.Now())
	p.tell(klog.FromContext(ctx), task.Action, result)
	return result
}

// tell logs what was done, and what failed. That an eviction keeps failing is an
// Event too.
func (p *performer) tell(logger klog.Logger, action controller.Action, result controller.Result) {
	if evict, ok := action.(controller.Evict); ok {
		evictionreport.Log(logger, evict.Task, result.Eviction)
		evictionreport.RecordFailure(p.events.taints, evict.Task, result.Eviction)
		return
	}
	tellStale(logger, action, result)
	what, object := describe(action)
	switch {
	case object == nil:
	case apierrors.IsNotFound(result.Err):
		logger.V(2).Info("Object is gone", "action", what, "object", object)
	case result.Err != nil:
		logger.Error(result.Err, "Action failed, will try again", "action", what, "object", object)
	default:
		logger.V(2).Info("Done", "action", what, "object", object)
	}
}

// tellStale logs that the API server has another version of an object than the
// cache, from which a refused write was computed.
func tellStale(logger klog.Logger, action controller.Action, result controller.Result) {
	switch action := action.(type) {
	case controller.ReadNode:
		if live := result.Node; live != nil && live.ResourceVersion != action.Node.ResourceVersion {
			logger.Info("The cached node is stale", "node", klog.KObj(live),
				"cachedVersion", action.Node.ResourceVersion, "version", live.ResourceVersion)
		}
	case controller.ReadPod:
		if live := result.Pod; live != nil && live.ResourceVersion != action.Pod.ResourceVersion {
			logger.Info("The cached pod is stale", "pod", klog.KObj(live),
				"cachedVersion", action.Pod.ResourceVersion, "version", live.ResourceVersion)
		}
	}
}

// describe names an action and its object for the log. Evictions have lines and
// metrics of their own.
func describe(action controller.Action) (string, any) {
	switch action := action.(type) {
	case controller.ReadLease:
		return "read lease", klog.KObj(action.Node)
	case controller.ListLeases:
		return "list leases", klog.KRef(corev1.NamespaceNodeLease, "")
	case controller.DeclareUnknown:
		return "declare unknown", klog.KObj(action.Node)
	case controller.ReadNode:
		return "read node", klog.KObj(action.Node)
	case controller.PatchTaints:
		return "patch taints", klog.KObj(action.Node)
	case controller.PatchLabels:
		return "patch labels", klog.KObj(action.Node)
	case controller.ReadPod:
		return "read pod", klog.KObj(action.Pod)
	case controller.MarkPodNotReady:
		return "mark pod not ready", klog.KObj(action.Pod)
	case controller.Evict:
		return "evict", klog.KRef(action.Task.Pod.Namespace, action.Task.Pod.Name)
	}
	return "", nil
}
