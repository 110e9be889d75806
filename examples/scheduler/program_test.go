package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/alerts"
	"github.com/kubelife/lifecycle/examples/scheduler/scheduling"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

func execute(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out, diagnostics bytes.Buffer
	code := run(t.Context(), args, &out, &diagnostics)
	return code, diagnostics.String()
}

func TestWithoutAClusterItSaysThatItNeedsOne(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	code, says := execute(t)
	require.Equal(t, process.ExitFailed, code)
	require.Contains(t, says, "no cluster: give --kubeconfig or --master, or run in a cluster")
}

func TestAServerThatIsNotThereIsNamed(t *testing.T) {
	code, says := execute(t, "--master=http://127.0.0.1:1")
	require.Equal(t, process.ExitFailed, code)
	require.Contains(t, says, "reach the API server at http://127.0.0.1:1")
}

func TestHelpTeaches(t *testing.T) {
	var out bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"--help"}, &out, io.Discard))
	says := out.String()
	for _, word := range []string{
		"scheduler --kubeconfig FILE", "/pending", "--scheduler-name", "--node-template", "--budget-per-node",
		"--leader-elect",
	} {
		require.Contains(t, says, word)
	}
	require.NotContains(t, says, "--action", "its evictions ask the Eviction API and nothing else")
	require.NotContains(t, says, "--shadow", "it has none")
}

func TestWrongFlagsAreAllNamed(t *testing.T) {
	code, says := execute(t, "--shadow", "--scheduler-name=", "--concurrent-bindings=0", "--pod-initial-backoff=0s",
		"--pod-max-backoff=-1s", "--assume-timeout=0s", "--node-silent-after=19s", "--node-startup-grace-period=0s",
		"--node-blind-after=-1s", "--unhealthy-zone-threshold=2", "--budget-burst=0", "--kube-api-qps=0")
	require.Equal(t, process.ExitUsage, code)
	for _, flag := range []string{
		"--shadow is not supported", "--scheduler-name is empty", "--concurrent-bindings is 0", "--pod-initial-backoff is 0s",
		"--pod-max-backoff is -1s", "--assume-timeout is 0s", "--node-silent-after is 19s, want more than two",
		"--node-startup-grace-period is 0s", "--node-blind-after is -1s", "--unhealthy-zone-threshold is 2",
		"--budget-burst is 0", "--kube-api-qps is 0",
	} {
		require.Contains(t, says, flag)
	}
}

func TestTemplatesAreReadStrictly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pool.yaml")
	read := func(text string) (scheduling.Config, error) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		var s settings
		require.NoError(t, command(&s).FlagSet().Parse([]string{"--node-template=" + file}))
		return s.config()
	}
	config, err := read("metadata: {name: pool}\nstatus: {allocatable: {cpu: 4}}\n")
	require.NoError(t, err)
	require.Equal(t, "pool", config.Templates[0].Name)
	_, err = read("metadata: {nam: pool}\n")
	require.ErrorContains(t, err, "--node-template")
	require.NoError(t, os.Remove(file))
	var s settings
	require.NoError(t, command(&s).FlagSet().Parse([]string{"--node-template=" + file}))
	_, err = s.config()
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Only what is known to have been refused counts as not written.
func TestAnswersAreTakenForWhatTheyAre(t *testing.T) {
	pods := corev1.Resource("pods")
	for says, test := range map[string]struct {
		err  error
		want scheduling.Outcome
	}{
		"none":      {nil, scheduling.OutcomeDone},
		"gone":      {apierrors.NewNotFound(pods, "p"), scheduling.OutcomeGone},
		"forbidden": {apierrors.NewForbidden(pods, "p", errors.New("no")), scheduling.OutcomeRefused},
		"busy":      {apierrors.NewTooManyRequests("busy", 1), scheduling.OutcomeRefused},
		"conflict":  {apierrors.NewConflict(pods, "p", errors.New("bound")), scheduling.OutcomeUnknown},
		"failed":    {apierrors.NewInternalError(errors.New("etcd")), scheduling.OutcomeUnknown},
		"timeout":   {context.DeadlineExceeded, scheduling.OutcomeUnknown},
	} {
		require.Equal(t, test.want, resultOf(nil, test.err).Outcome, says)
	}
}

// The metric controller_halted says of each program what a halt of it holds.
func TestWhatAHaltHolds(t *testing.T) {
	var s settings
	require.NoError(t, command(&s).FlagSet().Parse(nil))
	client := memory.NewCluster()
	service, err := program(&s).Connect(t.Context(), process.Clients{Acting: client, Watching: client, Recording: client})
	require.NoError(t, err)
	defer service.Stop()
	require.Equal(t, "all evictions; pods are bound as ever", service.Held)
}

// world is a cluster in memory with a binder, in virtual time.
type world struct {
	t       *testing.T
	ctx     context.Context
	cluster *memory.Cluster
	client  *memory.Client // the binder's
	binder  *binder
	events  chan string
	metrics *prometheus.Registry
}

func inWorld(t *testing.T, play func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		recorder := record.NewFakeRecorder(1000)
		w := &world{
			t: t, ctx: ctx, cluster: memory.NewCluster(), events: recorder.Events, metrics: prometheus.NewRegistry(),
		}
		w.client = w.cluster.NewClient()
		var s settings
		require.NoError(t, command(&s).FlagSet().Parse([]string{"--node-blind-after=0"}))
		var err error
		w.binder, err = newBinder(&s, process.Clients{Acting: w.client, Watching: w.client}, recorder, w.metrics)
		require.NoError(t, err)
		ready, done := make(chan struct{}), make(chan struct{}, 2)
		go func() { w.binder.Observe(ctx, func() { close(ready) }); done <- struct{}{} }()
		go func() { assert.NoError(t, w.binder.Act(ctx)); done <- struct{}{} }()
		<-ready
		play(w)
		stop()
		<-done
		<-done
	})
}

func (w *world) addNode(name string) {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods: resource.MustParse("10"),
	}
	node, err := w.cluster.CoreV1().Nodes().Create(w.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	require.NoError(w.t, err)
	node.Status = corev1.NodeStatus{
		Allocatable: room, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}
	_, err = w.cluster.CoreV1().Nodes().UpdateStatus(w.ctx, node, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	synctest.Wait() // nodes and pods have watches of their own
}

func (w *world) addPod(name, cpu string, shape ...func(*corev1.Pod)) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: corev1.PodSpec{
			SchedulerName: "lifecycle-scheduler",
			Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
			}}},
		},
	}
	for _, f := range shape {
		f(pod)
	}
	_, err := w.cluster.CoreV1().Pods("shop").Create(w.ctx, pod, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func (w *world) pod(name string) *corev1.Pod {
	pod, err := w.cluster.CoreV1().Pods("shop").Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return pod
}

func (w *world) wantEvent(says string) {
	w.t.Helper()
	synctest.Wait()
	var all []string
	for len(w.events) > 0 {
		all = append(all, <-w.events)
	}
	require.True(w.t, slices.Contains(all, says), "%q is not in %q", says, all)
}

func TestPodsAreBound(t *testing.T) {
	inWorld(t, func(w *world) {
		w.addNode("n1")
		w.addPod("web", "1")
		w.addPod("theirs", "1", func(pod *corev1.Pod) { pod.Spec.SchedulerName = corev1.DefaultSchedulerName })
		w.wantEvent("Normal Scheduled Successfully assigned shop/web to n1")
		require.Equal(t, "n1", w.pod("web").Spec.NodeName)
		require.Empty(t, w.pod("theirs").Spec.NodeName)
	})
}

// A pod that fits nowhere is told in its status, in an Event and on a page. It
// is bound when there is a node.
func TestPodThatFitsNowhereIsTold(t *testing.T) {
	inWorld(t, func(w *world) {
		w.addNode("n1")
		w.addPod("large", "6")
		w.wantEvent("Warning FailedScheduling 0/1 nodes are available: 1 Insufficient cpu.")
		conditions := w.pod("large").Status.Conditions
		require.Len(t, conditions, 1)
		require.Equal(t, corev1.PodScheduled, conditions[0].Type)
		require.Equal(t, corev1.ConditionFalse, conditions[0].Status)
		require.Equal(t, corev1.PodReasonUnschedulable, conditions[0].Reason)
		require.Equal(t, "0/1 nodes are available: 1 Insufficient cpu.", conditions[0].Message)
		require.Equal(t, 1.0, w.metric("scheduler_pending_pods", "unschedulable"))
		require.Equal(t, 1.0, w.metric("scheduler_schedule_attempts_total", "unschedulable"))

		require.NoError(t, w.cluster.CoreV1().Pods("shop").Delete(w.ctx, "large", *metav1.NewDeleteOptions(0)))
		w.addPod("ported", "1", func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
		})
		w.wantEvent("Warning FailedScheduling the scheduler does not support host ports")
		require.Equal(t, corev1.PodReasonSchedulerError, w.pod("ported").Status.Conditions[0].Reason,
			"an autoscaler must not add nodes for it")
	})
}

// An alert rule for a metric that has another name never fires.
func TestAlertRulesNameMetricsThatAreServed(t *testing.T) {
	inWorld(t, func(w *world) {
		task := scheduling.Task{Action: scheduling.ActionBind}
		w.binder.metrics.performed(task, scheduling.Result{Outcome: scheduling.OutcomeRefused}, time.Now())
		selectors, err := alerts.Selectors("scheduler")
		require.NoError(t, err)
		for _, s := range selectors {
			for _, value := range slices.Concat(s.Values["queue"], s.Values["result"]) {
				w.metric(s.Metric, value)
			}
		}
	})
}

// Pods make room through the Eviction API: as long as a PodDisruptionBudget
// forbids it no pod leaves, and no pod is deleted in another way.
func TestPodsMakeRoomThroughTheEvictionAPI(t *testing.T) {
	inWorld(t, func(w *world) {
		evictions := memory.Request{Verb: "create", Resource: "pods", Subresource: "eviction"}
		w.addNode("n1")
		w.addPod("low", "3", func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "low"} })
		w.wantEvent("Normal Scheduled Successfully assigned shop/low to n1")
		low := w.pod("low")
		low.Status.Phase = corev1.PodRunning
		low.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		_, err := w.cluster.CoreV1().Pods("shop").UpdateStatus(w.ctx, low, metav1.UpdateOptions{})
		require.NoError(t, err)
		budget, err := w.cluster.PolicyV1().PodDisruptionBudgets("shop").Create(w.ctx, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "low", Generation: 1},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: low.Labels}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		w.allow(budget, 0)

		w.addPod("high", "3", func(pod *corev1.Pod) { pod.Spec.Priority = ptr.To(int32(10)) })
		time.Sleep(time.Minute)
		w.wantEvent("Warning FailedScheduling 0/1 nodes are available: 1 Insufficient cpu. " +
			"preemption: 1 pod(s) leave node n1.")
		require.Equal(t, "n1", w.pod("high").Status.NominatedNodeName)
		require.Positive(t, w.client.Requests()[evictions], "it was asked for")
		require.Nil(t, w.pod("low").DeletionTimestamp, "and refused")

		w.allow(budget, 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		low = w.pod("low")
		require.NotNil(t, low.DeletionTimestamp)
		require.True(t, slices.ContainsFunc(low.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget && c.Reason == apiserver.ReasonEvicted
		}))
		require.Empty(t, w.pod("high").Spec.NodeName, "its room is not free yet")
		// As its kubelet does when the containers have stopped.
		require.NoError(t, w.cluster.CoreV1().Pods(low.Namespace).Delete(w.ctx, low.Name, *metav1.NewDeleteOptions(0)))
		w.wantEvent("Normal Preempted Preempted on node n1: it makes room for shop/high")
		require.InDelta(t, 1, testutil.ToFloat64(w.binder.metrics.evicted), 0)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "n1", w.pod("high").Spec.NodeName)
		require.Zero(t, w.client.Requests()[memory.Request{Verb: "delete", Resource: "pods"}])
	})
}

// allow is what the disruption controller writes.
func (w *world) allow(budget *policyv1.PodDisruptionBudget, disruptions int32) {
	budgets := w.cluster.PolicyV1().PodDisruptionBudgets(budget.Namespace)
	now, err := budgets.Get(w.ctx, budget.Name, metav1.GetOptions{})
	require.NoError(w.t, err)
	now.Status.DisruptionsAllowed, now.Status.ObservedGeneration = disruptions, now.Generation
	_, err = budgets.UpdateStatus(w.ctx, now, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	synctest.Wait()
}

// The page of a replica that does not lead says why it knows no reason.
func TestThePageOfAStandbyListsPods(t *testing.T) {
	var s settings
	require.NoError(t, command(&s).FlagSet().Parse(nil))
	client := memory.NewCluster().NewClient()
	standby, err := newBinder(&s, process.Clients{Acting: client, Watching: client}, record.NewFakeRecorder(1),
		prometheus.NewRegistry())
	require.NoError(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid"}}
	pod.Spec.SchedulerName = "lifecycle-scheduler"
	standby.change(func(now time.Time) { standby.core.ObservePod(now, pod) })()
	written := httptest.NewRecorder()
	pendingPage(standby).ServeHTTP(written, httptest.NewRequestWithContext(t.Context(), "GET", "/pending", nil))
	require.Equal(t, "1 pods have no node.\nshop/web after 0 attempts: not decided yet, which only the leader does\n",
		written.Body.String())
}

// metric returns the value of a counter or gauge with one label.
func (w *world) metric(name, label string) float64 {
	families, err := w.metrics.Gather()
	require.NoError(w.t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, pair := range m.GetLabel() {
				if family.GetName() == name && pair.GetValue() == label {
					return m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
			}
		}
	}
	w.t.Fatalf("no metric %s", name)
	return 0
}

// A pod that is bound for which no event of the watch comes is not bound again.
func TestEachPodIsBoundOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, name := range []string{"n1", "n2", "n3"} {
			w.addNode(name)
		}
		for i := range 20 {
			w.addPod("web-"+strings.Repeat("x", i), "500m")
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		bindings := 0
		for request, n := range w.client.Requests() {
			if strings.Contains(request.String(), "binding") {
				bindings += n
			}
		}
		require.Equal(t, 20, bindings)
	})
}
