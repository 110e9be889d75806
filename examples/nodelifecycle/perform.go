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
)

// performer does what the controller asks for, in bounded time, and tells about
// it in the log and in metrics.
type performer struct {
	edge    *edge.Performer
	metrics *metrics
}

// callTimeout bounds an action. A connection that is stuck must not hold a
// worker for longer than an API server may take.
const callTimeout = 30 * time.Second

// newPerformer returns what acts on a cluster through client.
func newPerformer(s *settings, client kubernetes.Interface, events *events, metrics *metrics) (*performer, error) {
	evict, err := newEviction(s, client)
	if err != nil {
		return nil, err
	}
	acts, err := edge.NewPerformer(edge.PerformerConfig{
		Nodes:  client.CoreV1().Nodes(),
		Pods:   func(namespace string) edge.Pods { return client.CoreV1().Pods(namespace) },
		Leases: client.CoordinationV1().Leases(corev1.NamespaceNodeLease),
		Evict:  evict,
		Record: events.record,
	})
	if err != nil {
		return nil, err
	}
	return &performer{acts, metrics}, nil
}

func newEviction(s *settings, client kubernetes.Interface) (eviction.Action, error) {
	config := eviction.DeleteConfig{
		Pods: func(namespace string) eviction.Pods { return client.CoreV1().Pods(namespace) },
	}
	if s.ConfirmEvictions {
		config.Confirm = client.CoreV1().Nodes()
	}
	deletion, err := eviction.NewDelete(config)
	if err != nil {
		return nil, err
	}
	return deletion.Act, nil
}

func (p *performer) perform(ctx context.Context, action controller.Action) controller.Result {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	started := time.Now()
	result := p.edge.Perform(ctx, action)
	p.metrics.performed(action, result, started, time.Now())
	tell(klog.FromContext(ctx), action, result)
	return result
}

// tell logs what was done, and what failed.
func tell(logger klog.Logger, action controller.Action, result controller.Result) {
	if result.Err == nil {
		result.Err = result.Eviction.Err
	}
	what, object := describe(action)
	switch {
	case object == nil:
	case apierrors.IsNotFound(result.Err):
		logger.V(2).Info("Object is gone", "action", what, "object", object)
	case result.Err != nil:
		logger.Error(result.Err, "Action failed, will try again", "action", what, "object", object)
	case result.Eviction.Outcome == eviction.NotDue:
		logger.Info("Pod need not leave after all: the API server has something newer than the cache", "object", object)
	case result.Alive:
		logger.Info("Node is not silent after all: the API server has a newer lease than the cache", "object", object)
	default:
		logger.V(2).Info("Done", "action", what, "object", object)
	}
}

// describe names an action and its object for the log.
func describe(action controller.Action) (string, any) {
	switch action := action.(type) {
	case controller.DeclareUnknown:
		return "declare unknown", klog.KObj(action.Node)
	case controller.PatchTaints:
		return "patch taints", klog.KObj(action.Node)
	case controller.PatchLabels:
		return "patch labels", klog.KObj(action.Node)
	case controller.MarkPodNotReady:
		return "mark pod not ready", klog.KObj(action.Pod)
	case controller.Evict:
		if action.Work.Unmark {
			return "take eviction back", klog.KRef(action.Work.Pod.Namespace, action.Work.Pod.Name)
		}
		return "evict", klog.KRef(action.Work.Pod.Namespace, action.Work.Pod.Name)
	}
	return "", nil
}
