package main

import (
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/nodehealth"
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
	for version := 1; version <= 6; version++ {
		node = node.DeepCopy()
		node.ResourceVersion = strconv.Itoa(2 * version)
		node.Labels = map[string]string{corev1.LabelOSStable: strconv.Itoa(version)}
		core.ObserveNode(now, node)
		for task, ok := core.Start(now); ok; task, ok = core.Start(now) {
			var result controller.Result
			if _, is := task.Action.(controller.PatchLabels); is {
				node = node.DeepCopy()
				node.ResourceVersion = strconv.Itoa(2*version + 1)
				node.Labels["beta.kubernetes.io/os"] = strconv.Itoa(version)
				result.Node = node
			}
			core.Finish(now, task, result)
		}
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
	core.Start(now)

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
		core.Start(now)
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
