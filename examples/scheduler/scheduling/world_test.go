package scheduling_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/scheduler/scheduling"
	"github.com/kubelife/lifecycle/timedqueue"
)

var start = time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)

// world plays the API server and time for a scheduler.
type world struct {
	t         *testing.T
	now       time.Time
	scheduler *scheduling.Scheduler
	jobs      timedqueue.Source[timedqueue.Job]
	// done are the tasks since the last look, as a line each.
	done []string
	// answer is what the API server answers to a task. Nil accepts all.
	answer func(scheduling.Task) scheduling.Result
	// evicts is what it answers to an eviction. Nil accepts all.
	evicts func(scheduling.Eviction) eviction.Outcome
	// unseen keeps bindings from the scheduler's watch.
	unseen bool
	pods   map[string]*corev1.Pod
	// written is the name of the pod that the last action may have changed.
	written string
}

func newWorld(t *testing.T, config scheduling.Config) *world {
	t.Helper()
	config.SchedulerName = "lifecycle"
	s, err := scheduling.New(config, start)
	require.NoError(t, err)
	w := &world{t: t, now: start, scheduler: s, pods: map[string]*corev1.Pod{}}
	w.jobs, err = s.Jobs(scheduling.Actions{Perform: w.perform, Evict: w.evict}, start)
	require.NoError(t, err)
	return w
}

func (w *world) synced() *world {
	w.scheduler.MarkSynced(w.now)
	return w
}

func nodeNamed(name string, shape ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: "a",
		}},
		Status: corev1.NodeStatus{
			Allocatable: amounts("4", "8Gi", "10"),
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, f := range shape {
		f(node)
	}
	return node
}

func amounts(cpu, memory, pods string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourcePods: resource.MustParse(pods),
	}
}

func inZone(zone string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Labels[corev1.LabelTopologyZone] = zone }
}

func tainted(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Effect: effect})
	}
}

func podNamed(name, cpu string, shape ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("pod-" + name), Labels: map[string]string{"app": name},
		},
		Spec: corev1.PodSpec{
			SchedulerName: "lifecycle",
			Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
			}}},
		},
	}
	for _, f := range shape {
		f(pod)
	}
	return pod
}

func on(node string) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Spec.NodeName = node } }

func priority(n int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Priority = ptr.To(n) }
}

func tolerates(key string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations,
			corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
}

func (w *world) nodes(nodes ...*corev1.Node) *world {
	for _, node := range nodes {
		w.scheduler.ObserveNode(w.now, node)
	}
	return w
}

func (w *world) add(pods ...*corev1.Pod) *world {
	for _, pod := range pods {
		w.pods[pod.Name] = pod
		w.scheduler.ObservePod(w.now, pod)
	}
	return w
}

func (w *world) remove(names ...string) {
	for _, name := range names {
		w.scheduler.ForgetPod(w.now, w.pods[name].UID)
		delete(w.pods, name)
	}
}

// beat makes nodes heard.
func (w *world) beat(names ...string) {
	for _, name := range names {
		w.scheduler.ObserveLease(w.now, leaseOf(name, w.now))
	}
}

func leaseOf(node string, renewed time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node, ResourceVersion: fmt.Sprint(renewed.UnixNano())},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(node), RenewTime: ptr.To(metav1.NewMicroTime(renewed))},
	}
}

// step performs what is due now, and returns what that was.
func (w *world) step() []string {
	w.t.Helper()
	w.done = nil
	for range 100_000 {
		job, ok := w.jobs.Start(w.now)
		if !ok {
			if at, ok := w.jobs.Next(w.now); ok && !at.After(w.now) {
				continue
			}
			return w.done
		}
		w.finish(job)
	}
	w.t.Fatal("it never rests")
	return nil
}

// finish performs a job, and has the watch show what it has changed.
func (w *world) finish(job timedqueue.Job) {
	w.written = ""
	job.Perform(w.t.Context())
	job.Finish(w.now)
	if pod := w.pods[w.written]; pod != nil && !w.unseen {
		w.scheduler.ObservePod(w.now, pod)
	}
}

func (w *world) perform(_ context.Context, task scheduling.Task) scheduling.Result {
	result := scheduling.Result{Outcome: scheduling.OutcomeDone}
	if w.answer != nil {
		result = w.answer(task)
	}
	name := task.Pod.Name
	switch task.Action {
	case scheduling.ActionBind:
		w.written = name
		w.done = append(w.done, fmt.Sprintf("bind %s to %s", name, task.Decision.Node))
		if result.Outcome == scheduling.OutcomeDone && result.Err == nil {
			w.pods[name] = changed(w.pods[name], on(task.Decision.Node))
		}
	case scheduling.ActionReport:
		w.written = name
		w.done = append(w.done, fmt.Sprintf("report %s: %s", name, task.Decision.Message()))
	case scheduling.ActionRead:
		w.done = append(w.done, "read "+name)
		if result.Outcome == scheduling.OutcomeDone {
			result.Pod = w.pods[name]
		}
	}
	return result
}

func (w *world) evict(_ context.Context, e scheduling.Eviction) eviction.Result {
	outcome := eviction.OutcomeEvicted
	if w.evicts != nil {
		outcome = w.evicts(e)
	}
	name := e.Task.Pod.Name
	w.written = name
	w.done = append(w.done, fmt.Sprintf("evict %s from %s: %s", name, e.Task.Node, e.Task.Decision.Request))
	if outcome == eviction.OutcomeEvicted {
		w.pods[name] = changed(w.pods[name], func(pod *corev1.Pod) {
			pod.DeletionTimestamp = &metav1.Time{Time: w.now}
		})
	}
	return eviction.Result{Outcome: outcome}
}

func changed[T interface{ DeepCopy() T }](object T, change func(T)) T {
	object = object.DeepCopy()
	change(object)
	return object
}

// after lets time pass while these nodes beat each second, and performs what
// becomes due.
func (w *world) after(d time.Duration, beating ...string) []string {
	var all []string
	for until := w.now.Add(d); w.now.Before(until); {
		w.now = w.now.Add(min(time.Second, until.Sub(w.now)))
		w.beat(beating...)
		all = append(all, w.step()...)
	}
	w.done = all
	return all
}

func budgetOf(name, app string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}
