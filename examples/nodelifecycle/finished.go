package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/process/evicting/evictionreport"
	"github.com/kubelife/lifecycle/timedqueue"
)

// finisher tells about tasks that have ended in the log, in metrics and in
// Events.
type finisher struct {
	events  *events
	metrics *metrics
}

// finished tells about a task, except one that did not return, of which the
// dispatcher tells.
func (f *finisher) finished(ctx context.Context, finished timedqueue.Finished) {
	if finished.Err != nil {
		return
	}
	task, result := finished.Task()
	switch task := task.(type) {
	case controller.LeaseRead:
		f.readLeases(ctx, task, as[controller.Leases](result))
	case controller.Declaration:
		f.metrics.declareSeconds.Observe(finished.Ended.Sub(finished.Started).Seconds())
		f.tell(ctx, "declare unknown", klog.KObj(task.Node), as[controller.Result[*corev1.Node]](result).Err)
	case controller.NodeChange:
		f.changedNode(ctx, task, as[controller.Result[*corev1.Node]](result))
	case controller.PodMark:
		f.markedPod(ctx, task, as[controller.Result[*corev1.Pod]](result))
	case eviction.Task:
		result := as[eviction.Result](result)
		f.metrics.evicted(task, result, finished.Ended)
		f.evicted(ctx, task, result)
	}
}

// as returns the result of a task as its type. The zero value, which a result of
// another type would become, is a failure.
func as[R any](result any) R {
	typed, _ := result.(R)
	return typed
}

func (f *finisher) readLeases(ctx context.Context, read controller.LeaseRead, leases controller.Leases) {
	if read.Node != nil {
		f.tell(ctx, "read lease", klog.KObj(read.Node), leases.Err)
	} else {
		f.tell(ctx, "list leases", klog.KRef(corev1.NamespaceNodeLease, ""), leases.Err)
	}
}

func (f *finisher) changedNode(
	ctx context.Context, change controller.NodeChange, result controller.Result[*corev1.Node],
) {
	if change.Released && result.Err == nil {
		f.metrics.nodesTainted.inc(change.Zone)
	}
	if change.Action == controller.NodeActionRead && result.Err == nil {
		tellStale(ctx, "node", change.Node, result.Object)
	}
	f.tell(ctx, string(change.Action), klog.KObj(change.Node), result.Err)
}

func (f *finisher) markedPod(
	ctx context.Context, mark controller.PodMark, result controller.Result[*corev1.Pod],
) {
	if mark.Action == controller.PodActionRead && result.Err == nil {
		tellStale(ctx, "pod", mark.Pod, result.Object)
	}
	f.tell(ctx, string(mark.Action), klog.KObj(mark.Pod), result.Err)
}

// evicted tells of an eviction. That one keeps failing is an Event too.
func (f *finisher) evicted(ctx context.Context, task eviction.Task, result eviction.Result) {
	evictionreport.Log(klog.FromContext(ctx), task, result)
	evictionreport.RecordFailure(f.events.taints, task, result)
}

// tell logs what was done, and logs and counts what failed. Evictions have lines
// and metrics of their own.
func (f *finisher) tell(ctx context.Context, action string, object klog.ObjectRef, err error) {
	logger := klog.FromContext(ctx)
	if err == nil {
		logger.V(2).Info("Done", "action", action, "object", object)
		return
	}
	f.metrics.failed(action)
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
