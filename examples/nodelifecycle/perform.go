package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coordinationlisters "k8s.io/client-go/listers/coordination/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
)

// performer does what the controller asks for: one API call an action, and for
// two of them a closer look before it.
type performer struct {
	client  kubernetes.Interface
	leases  coordinationlisters.LeaseNamespaceLister
	nodes   record.EventRecorder // speaks for the node controller
	taints  record.EventRecorder // speaks for the taint eviction controller
	evict   eviction.Action
	metrics *metrics
}

// callTimeout bounds an action. A connection that is stuck must not hold a
// worker for longer than an API server may take.
const callTimeout = 30 * time.Second

func (p *performer) perform(ctx context.Context, action controller.Action) controller.Result {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	started := time.Now()
	result := p.act(ctx, action)
	p.metrics.performed(action, result, started, time.Now())
	tell(klog.FromContext(ctx), action, result)
	return result
}

func (p *performer) act(ctx context.Context, action controller.Action) controller.Result {
	switch action := action.(type) {
	case controller.DeclareUnknown:
		return p.declareUnknown(ctx, action)
	case controller.PatchTaints:
		return p.patchNode(ctx, action.Node, action.Patch)
	case controller.PatchLabels:
		return p.patchNode(ctx, action.Node, action.Patch)
	case controller.MarkPodNotReady:
		pod, err := p.client.CoreV1().Pods(action.Pod.Namespace).Patch(ctx, action.Pod.Name,
			action.Patch.Type, action.Patch.Data, metav1.PatchOptions{}, action.Patch.Subresource)
		if err != nil {
			return controller.Result{Err: err}
		}
		return controller.Result{Pod: trimPod(pod)}
	case controller.Evict:
		return controller.Result{Eviction: p.evict(ctx, action.Work)}
	case controller.Record:
		p.record(action)
	}
	return controller.Result{}
}

// declareUnknown reads the node's lease first. If the API server has another
// version of it than our cache, it is the cache that is behind and not the node.
func (p *performer) declareUnknown(ctx context.Context, action controller.DeclareUnknown) controller.Result {
	live, err := p.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, action.Node.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return controller.Result{Err: fmt.Errorf("read lease of silent node: %w", err)}
	}
	if err == nil {
		cached, err := p.leases.Get(action.Node.Name)
		if err != nil || cached.ResourceVersion != live.ResourceVersion {
			return controller.Result{Alive: true}
		}
	}
	return p.patchNode(ctx, action.Node, action.Patch)
}

func (p *performer) patchNode(ctx context.Context, node *corev1.Node, patch controller.Patch) controller.Result {
	var subresources []string
	if patch.Subresource != "" {
		subresources = []string{patch.Subresource}
	}
	patched, err := p.client.CoreV1().Nodes().Patch(ctx, node.Name, patch.Type, patch.Data, metav1.PatchOptions{}, subresources...)
	if err != nil {
		return controller.Result{Err: err}
	}
	return controller.Result{Node: trimNode(patched)}
}

func (p *performer) record(event controller.Record) {
	recorder := p.nodes
	if event.Reason == controller.ReasonEviction {
		recorder = p.taints
	}
	recorder.Event(&event.Object, event.Type, event.Reason, event.Message)
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
