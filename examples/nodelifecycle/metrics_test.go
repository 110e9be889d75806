package main

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/zone"
)

// state is a controller that is not locked.
type state struct{ *controller.Controller }

func (s state) read(look func(*controller.Controller)) { look(s.Controller) }

// kube-controller-manager shows evictions_total of each zone from its first node on.
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
