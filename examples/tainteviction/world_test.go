package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// world is a cluster in memory with the node n1 and an evictor, in virtual
// time.
type world struct {
	t        *testing.T
	ctx      context.Context
	cluster  *memory.Cluster
	client   *memory.Client // the evictor's
	wrapped  kubernetes.Interface
	evictor  *evictor
	events   chan string
	registry *prometheus.Registry
	start    func(flags ...string)
	added    []string // names of pods
}

// inWorld plays a test in a bubble, and stops the evictor after it if one was
// started.
func inWorld(t *testing.T, play func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		recorder := record.NewFakeRecorder(1000)
		w := &world{t: t, ctx: ctx, cluster: memory.NewCluster(), events: recorder.Events}
		w.client = w.cluster.NewClient()
		w.wrapped = w.client
		w.registry = prometheus.NewRegistry()
		w.addNode("n1")
		done := make(chan struct{}, 2)
		started := 0
		w.start = func(flags ...string) {
			var s settings
			require.NoError(t, command(&s).FlagSet().Parse(flags))
			var err error
			w.evictor, err = newEvictor(&s, process.Clients{Acting: w.wrapped, Watching: w.wrapped}, recorder, w.registry)
			require.NoError(t, err)
			ready := make(chan struct{})
			go func() { w.evictor.Observe(ctx, func() { close(ready) }); done <- struct{}{} }()
			go func() { assert.NoError(t, w.evictor.Act(ctx)); done <- struct{}{} }()
			started = 2
			<-ready
		}
		play(t, w)
		stop()
		for range started {
			<-done
		}
	})
}

func (w *world) addNode(name string) {
	_, err := w.cluster.CoreV1().Nodes().Create(w.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// taint sets the taints of n1.
func (w *world) taint(taints ...corev1.Taint) {
	node, err := w.cluster.CoreV1().Nodes().Get(w.ctx, "n1", metav1.GetOptions{})
	require.NoError(w.t, err)
	node.Spec.Taints = taints
	_, err = w.cluster.CoreV1().Nodes().Update(w.ctx, node, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// add creates a pod and binds it to n1.
func (w *world) add(name string, shape ...func(*corev1.Pod)) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	for _, f := range shape {
		f(pod)
	}
	addTo(w.t, w.ctx, w.cluster, pod, "n1")
	w.added = append(w.added, name)
}

func addTo(t *testing.T, ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, node string) { //nolint:revive // t first, as everywhere in tests
	pods := client.CoreV1().Pods(pod.Namespace)
	status := pod.Status
	_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, pods.Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{}))
	if status.Phase == "" {
		return
	}
	bound, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
	require.NoError(t, err)
	bound.Status.Phase = status.Phase
	_, err = pods.UpdateStatus(ctx, bound, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// at lets time pass until so long after the start, and everything happen that
// then happens.
func (w *world) at(started time.Time, d time.Duration) {
	time.Sleep(time.Until(started.Add(d)))
	synctest.Wait()
}

// left are the names of the pods that are gone or going.
func (w *world) left() []string {
	pods, err := w.cluster.CoreV1().Pods("").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	names := slices.Sorted(slices.Values(w.added))
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			names = slices.DeleteFunc(names, func(name string) bool { return name == pods.Items[i].Name })
		}
	}
	return names
}

// writes are the kinds of requests of the evictor that change something.
func (w *world) writes() []string {
	var kinds []string
	for request := range maps.Keys(w.client.Requests()) {
		if request.Verb != "list" && request.Verb != "watch" && request.Verb != "get" {
			kinds = append(kinds, request.String())
		}
	}
	slices.Sort(kinds)
	return kinds
}

// metric returns the value of a counter or gauge, or the count of a histogram.
// Labels are as in outcome=Failed.
func (w *world) metric(name string, labels ...string) float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	require.NoError(w.t, err)
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			has := 0
			for _, pair := range m.GetLabel() {
				if slices.Contains(labels, pair.GetName()+"="+pair.GetValue()) {
					has++
				}
			}
			if has == len(labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	w.t.Fatalf("no metric %s{%s}", name, strings.Join(labels, ","))
	return 0
}

var maintenance = corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}

// tolerates gives a pod a toleration of the taint, for some seconds or, with
// nil, for ever.
func tolerates(seconds *int64) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: maintenance.Key, Operator: corev1.TolerationOpExists, TolerationSeconds: seconds,
		})
	}
}
