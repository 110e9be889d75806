package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/evicting/evictionreport"
	"github.com/kubelife/lifecycle/examples/scheduler/scheduling"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A binder is a scheduling.Scheduler with everything that connects it to a
// cluster.
type binder struct {
	core       *scheduling.Scheduler
	dispatcher *timedqueue.Dispatcher
	informers  *informerSet
	client     kubernetes.Interface
	evictor    *eviction.Evictor
	recorder   record.EventRecorder
	metrics    *metrics
}

var _ process.Controller = (*binder)(nil)

// newBinder connects a binder to a cluster.
func newBinder(s *settings, clients process.Clients, recorder record.EventRecorder,
	registry prometheus.Registerer) (*binder, error) {
	config, err := s.config()
	if err != nil {
		return nil, err
	}
	b := &binder{client: clients.Acting, recorder: recorder}
	if b.core, err = scheduling.New(config, time.Now()); err != nil {
		return nil, err
	}
	if b.evictor, err = eviction.NewEvictor(eviction.EvictorConfig{
		Pods: func(namespace string) eviction.EvictionClient { return clients.Acting.CoreV1().Pods(namespace) },
	}); err != nil {
		return nil, err
	}
	counting, err := process.CountActions(registry)
	if err != nil {
		return nil, err
	}
	jobs, err := b.core.Jobs(scheduling.Actions{Perform: b.perform, Evict: b.evict}, time.Now())
	if err != nil {
		return nil, err
	}
	if b.dispatcher, err = timedqueue.NewJobDispatcher(jobs, timedqueue.DispatcherConfig{
		Workers: s.concurrentBindings, Finished: counting,
	}); err != nil {
		return nil, err
	}
	if b.metrics, err = newMetrics(s.schedulerName, registry, b); err != nil {
		return nil, err
	}
	b.informers, err = newInformerSet(clients.Watching, b)
	return b, err
}

// change returns a function that changes the core, alone and now.
func (b *binder) change(change func(now time.Time)) func() {
	return func() { b.dispatcher.Update(func() { change(time.Now()) }) }
}

// answered tells the core that the API server has answered a write.
func (b *binder) answered(now, sent time.Time) {
	b.dispatcher.Update(func() { b.core.Answered(now, sent) })
}

func (b *binder) readEvictions(look func(evictionreport.State)) {
	b.dispatcher.View(func() { look(b.core.Evictions()) })
}

// Observe fills the core from the cluster until ctx ends, and calls ready once
// all that existed has been seen.
func (b *binder) Observe(ctx context.Context, ready func()) { b.informers.run(ctx, b, ready) }

// Act binds until ctx ends or an action panics, and what was under way is done.
func (b *binder) Act(ctx context.Context) error { return b.dispatcher.Run(ctx) }

// Idle does nothing: what the leader has bound the informers tell.
func (b *binder) Idle(ctx context.Context) { <-ctx.Done() }

// perform does one task in bounded time, and tells about it.
func (b *binder) perform(ctx context.Context, task scheduling.Task) scheduling.Result {
	ctx, cancel := context.WithTimeout(ctx, process.CallTimeout)
	defer cancel()
	logger := klog.FromContext(ctx)
	var result scheduling.Result
	switch task.Action {
	case scheduling.ActionBind:
		result = resultOf(nil, b.bind(ctx, task))
	case scheduling.ActionReport:
		result = resultOf(nil, b.report(ctx, task))
	case scheduling.ActionRead:
		result = resultOf(b.client.CoreV1().Pods(task.Pod.Namespace).Get(ctx, task.Pod.Name, metav1.GetOptions{}))
	}
	if result.Err != nil {
		logger.Error(result.Err, "Task failed", "action", task.Action, "pod", klog.KObj(task.Pod))
	} else {
		logger.V(2).Info("Task done", "action", task.Action, "pod", klog.KObj(task.Pod), "node", task.Decision.Node)
	}
	b.metrics.performed(task, result, time.Now())
	b.record(task, result)
	return result
}

// evict has a pod make room in bounded time, and tells about it.
func (b *binder) evict(ctx context.Context, e scheduling.Eviction) eviction.Result {
	ctx, cancel := context.WithTimeout(ctx, process.CallTimeout)
	defer cancel()
	result := b.evictor.Act(ctx, e.Task)
	evictionreport.Log(klog.FromContext(ctx), e.Task, result)
	evicted := result.Outcome == eviction.OutcomeEvicted
	if evicted {
		b.metrics.evicted.Inc()
	}
	switch {
	case e.Pod == nil:
	case evicted:
		b.recorder.Event(e.Pod, corev1.EventTypeNormal, "Preempted",
			fmt.Sprintf("Preempted on node %s: it %s", e.Task.Node, e.Task.Decision.Request))
	default:
		evictionreport.RecordFailure(b.recorder, e.Task, result)
	}
	return result
}

// resultOf returns the result of a call. A conflict may be a binding of ours
// whose answer was lost, so that the pod is read.
func resultOf(pod *corev1.Pod, err error) scheduling.Result {
	result := scheduling.Result{Outcome: scheduling.OutcomeUnknown, Pod: pod, Err: err}
	switch {
	case err == nil:
		result.Outcome = scheduling.OutcomeDone
	case apierrors.IsNotFound(err):
		result.Outcome = scheduling.OutcomeGone
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsUnauthorized(err),
		apierrors.IsBadRequest(err), apierrors.IsTooManyRequests(err):
		result.Outcome = scheduling.OutcomeRefused
	}
	return result
}

// bind binds the pod that was decided about, and no other of its name.
func (b *binder) bind(ctx context.Context, task scheduling.Task) error {
	return b.client.CoreV1().Pods(task.Pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: task.Pod.Namespace, Name: task.Pod.Name, UID: task.Pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: task.Decision.Node},
	}, metav1.CreateOptions{})
}

// report writes why there is no node, as kube-scheduler does. The patch is
// refused if the pod has changed since, for example because it is bound.
func (b *binder) report(ctx context.Context, task scheduling.Task) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": task.Pod.UID, "resourceVersion": task.Pod.ResourceVersion},
		"status": map[string]any{
			"conditions":        []corev1.PodCondition{conditionOf(task, metav1.Now())},
			"nominatedNodeName": task.Decision.Node,
		},
	})
	if err != nil {
		return err
	}
	_, err = b.client.CoreV1().Pods(task.Pod.Namespace).
		Patch(ctx, task.Pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// conditionOf returns the condition PodScheduled. An autoscaler adds nodes for
// Unschedulable, which would not help a pod that is not supported.
func conditionOf(task scheduling.Task, now metav1.Time) corev1.PodCondition {
	condition := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: task.Decision.Message(), LastTransitionTime: now, ObservedGeneration: task.Pod.Generation,
	}
	if task.Decision.Unsupported != "" {
		condition.Reason = corev1.PodReasonSchedulerError
	}
	conditions := task.Pod.Status.Conditions
	if i := slices.IndexFunc(conditions, func(c corev1.PodCondition) bool {
		return c.Type == condition.Type && c.Status == condition.Status
	}); i >= 0 {
		condition.LastTransitionTime = conditions[i].LastTransitionTime
	}
	return condition
}

// record records the Events of kube-scheduler, of what was done.
func (b *binder) record(task scheduling.Task, result scheduling.Result) {
	if result.Outcome != scheduling.OutcomeDone {
		return
	}
	switch task.Action {
	case scheduling.ActionBind:
		b.recorder.Eventf(task.Pod, corev1.EventTypeNormal, "Scheduled", "Successfully assigned %s/%s to %s",
			task.Pod.Namespace, task.Pod.Name, task.Decision.Node)
	case scheduling.ActionReport:
		b.recorder.Event(task.Pod, corev1.EventTypeWarning, "FailedScheduling", task.Decision.Message())
	case scheduling.ActionRead:
	}
}
