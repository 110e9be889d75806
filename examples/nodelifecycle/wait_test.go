package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/zone"
)

// zoneWithoutRate returns a controller that knows a ready node, and so many of
// its zone that are not ready. The rate of the zone is zero.
func zoneWithoutRate(t *testing.T, notReady int) *controller.Controller {
	t.Helper()
	core, err := controller.New(controller.Config{
		Zone: zone.Config{
			StabilizationWindow: time.Nanosecond, ObservationWindow: new(time.Duration),
			Rate: func(zone.State, zone.Counts) float64 { return 0 },
		},
		ZoneOf: func(*corev1.Node) string { return "z" },
	}, time.Now())
	require.NoError(t, err)
	for i := range notReady + 1 {
		ready := corev1.NodeCondition{
			Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now(),
		}
		if i == notReady {
			ready.Status = corev1.ConditionTrue
		}
		core.ObserveNode(time.Now(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%05d", i), UID: types.UID(fmt.Sprint(i))},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}},
		})
	}
	core.MarkSynced(time.Now())
	time.Sleep(time.Second)
	failing(t, core)()
	return core
}

// A node that is not acted on is on the page with its reason, and its zone.
func TestNodesThatWaitAreOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is 2000-01-01
		core := zoneWithoutRate(t, 3)
		require.Contains(t, page(t, core, "").Body.String(), `
Nodes that are silent or not ready and not acted on, because the rate of its zone is zero (rate): 3.
Zone "z" is in state PartialDisruption with 1 of 4 nodes ready: 0 nodes a second, 3 waiting.
Node n-00000 in zone "z" since 2000-01-01T00:00:00Z: rate
Node n-00001 in zone "z" since 2000-01-01T00:00:00Z: rate
Node n-00002 in zone "z" since 2000-01-01T00:00:00Z: rate
`)
		var shown doubtsJSON
		require.NoError(t, json.Unmarshal(page(t, core, "?format=json").Body.Bytes(), &shown))
		require.Len(t, shown.Waiting, 3)
		require.Equal(t, "n-00000 z rate", strings.Join([]string{
			shown.Waiting[0].Node, shown.Waiting[0].Zone, shown.Waiting[0].Reason,
		}, " "))
		require.Equal(t, map[controller.WaitReason]int{controller.WaitRate: 3}, shown.Reasons)
	})
}

// The page lists the first nodes, however many wait. The metric counts all.
func TestNodesThatWaitAreCountedAndTheFirstListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const notReady = nodesPerRead + 10
		core := zoneWithoutRate(t, notReady)
		var shown doubtsJSON
		require.NoError(t, json.Unmarshal(page(t, core, "?format=json").Body.Bytes(), &shown))
		require.Len(t, shown.Waiting, mostWaits)
		require.Equal(t, "n-00000", shown.Waiting[0].Node)
		require.Equal(t, fmt.Sprintf("n-%05d", mostWaits-1), shown.Waiting[mostWaits-1].Node)

		registry := prometheus.NewRegistry()
		require.NoError(t, registry.Register(newWaitMetrics(state{core})))
		families, err := registry.Gather()
		require.NoError(t, err)
		require.Len(t, families, 1)
		require.Equal(t, "nodelifecycle_waiting_nodes", families[0].GetName())
		require.Len(t, families[0].GetMetric(), len(controller.WaitReasons()))
		for _, metric := range families[0].GetMetric() {
			if reason := metric.GetLabel()[0].GetValue(); reason == "rate" {
				require.InDelta(t, notReady, metric.GetGauge().GetValue(), 0)
			} else {
				require.Zero(t, metric.GetGauge().GetValue(), reason)
			}
		}
	})
}
