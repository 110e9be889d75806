package main

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// state is a controller that is not locked.
type state struct{ *controller.Controller }

func (s state) read(look func(*controller.Controller)) { look(s.Controller) }

// H4: a metric shows that silent nodes are not declared because no heartbeat
// could have arrived.
func TestBlindnessIsShown(t *testing.T) {
	began := time.Now().Add(-time.Hour)
	config := controller.Config{Health: nodehealth.Config{SightTimeout: time.Minute}}
	core, err := controller.New(config, began)
	require.NoError(t, err)
	var s settings
	command(&s).FlagSet()
	registry := prometheus.NewRegistry()
	_, err = newMetrics(&s, registry, state{core})
	require.NoError(t, err)
	values := func() map[string]float64 {
		families, err := registry.Gather()
		require.NoError(t, err)
		all := map[string]float64{}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				all[family.GetName()] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
		return all
	}
	require.InDelta(t, 1, values()["nodelifecycle_blind"], 0)
	answered := began.Add(59*time.Minute + 59*time.Second)
	core.Answered(answered, answered)
	require.Zero(t, values()["nodelifecycle_blind"])
	require.InDelta(t, 3599, values()["nodelifecycle_blind_seconds_total"], 0.1)
}

// answering are actions of which only those about nodes succeed.
func answering(node func(controller.NodeChange) controller.Result[*corev1.Node]) controller.Actions {
	return controller.Actions{
		ReadLeases: func(context.Context, controller.LeaseRead) (none controller.Leases) { return none },
		Declare: func(context.Context, controller.Declaration) (none controller.Result[*corev1.Node]) {
			return none
		},
		ChangeNode: func(_ context.Context, change controller.NodeChange) controller.Result[*corev1.Node] {
			return node(change)
		},
		MarkPod: func(context.Context, controller.PodMark) (none controller.Result[*corev1.Pod]) { return none },
		Evict:   func(context.Context, eviction.Task) (none eviction.Result) { return none },
		Record:  func(context.Context, controller.Record) struct{} { return struct{}{} },
	}
}

// perform performs all that a controller asks for.
func perform(t *testing.T, jobs timedqueue.Source[timedqueue.Job], now time.Time) {
	t.Helper()
	for job, ok := jobs.Start(now); ok; job, ok = jobs.Start(now) {
		job.Perform(t.Context())
		job.Finish(now)
	}
}

// C2: that writes to a node that changes all the time are damped is shown.
func TestC2DampedWritesAreShown(t *testing.T) {
	now := time.Now()
	core, err := controller.New(controller.Config{}, now)
	require.NoError(t, err)
	core.MarkSynced(now)
	var s settings
	command(&s).FlagSet()
	registry := prometheus.NewRegistry()
	_, err = newMetrics(&s, registry, state{core})
	require.NoError(t, err)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}}
	jobs, err := core.Jobs(answering(func(controller.NodeChange) controller.Result[*corev1.Node] {
		node = node.DeepCopy()
		version, err := strconv.Atoi(node.ResourceVersion)
		require.NoError(t, err)
		node.ResourceVersion = strconv.Itoa(version + 1)
		node.Labels["beta.kubernetes.io/os"] = node.Labels[corev1.LabelOSStable]
		return controller.Result[*corev1.Node]{Object: node}
	}), now)
	require.NoError(t, err)
	for version := 1; version <= 6; version++ {
		node = node.DeepCopy()
		node.ResourceVersion = strconv.Itoa(2 * version)
		node.Labels = map[string]string{corev1.LabelOSStable: strconv.Itoa(version)}
		core.ObserveNode(now, node)
		perform(t, jobs, now)
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "nodelifecycle_damped_writes_total" {
			require.InDelta(t, 1, family.GetMetric()[0].GetCounter().GetValue(), 0)
			return
		}
	}
	t.Error("there is no such metric")
}

// kube-controller-manager shows evictions_total of each zone from its first
// node on.
func TestEvictionsOfANewZoneAreZero(t *testing.T) {
	now := time.Now()
	core, err := controller.New(controller.Config{}, now)
	require.NoError(t, err)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "n", UID: "u", Labels: map[string]string{corev1.LabelTopologyZone: "a"},
	}}
	core.ObserveNode(now, node)
	core.MarkSynced(now)
	jobs, err := core.Jobs(answering(func(controller.NodeChange) (none controller.Result[*corev1.Node]) {
		return none
	}), now)
	require.NoError(t, err)
	jobs.Start(now)

	var s settings
	command(&s).FlagSet()
	registry := prometheus.NewRegistry()
	m, err := newMetrics(&s, registry, state{core})
	require.NoError(t, err)
	name := zone.ByTopology(node)
	require.Equal(t, map[string]float64{name: 0}, evictionsTotal(t, registry))
	m.nodesTainted.inc(name)
	require.Equal(t, map[string]float64{name: 1}, evictionsTotal(t, registry))

	moved := node.DeepCopy()
	for _, label := range []string{"b", "c"} {
		moved.Labels = map[string]string{corev1.LabelTopologyZone: label}
		core.ObserveNode(now, moved)
		jobs.Start(now)
		require.Len(t, evictionsTotal(t, registry), 2)
	}
	require.Equal(t, map[string]float64{name: 1, zone.ByTopology(moved): 0},
		evictionsTotal(t, registry), "the zone that it has passed is gone")
}

func evictionsTotal(t *testing.T, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	found := map[string]float64{}
	for _, family := range families {
		if family.GetName() == "node_collector_evictions_total" {
			for _, metric := range family.GetMetric() {
				found[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
			}
		}
	}
	return found
}
