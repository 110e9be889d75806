package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/process/commandline"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
	"github.com/kubelife/lifecycle/nodehealth"
)

// doubting returns a controller that has doubts of two kinds. A node of a zone
// is silent and could not be read for ten minutes. The API server has not
// answered for one.
func doubting(t *testing.T) *controller.Controller {
	t.Helper()
	began := time.Now()
	core, err := controller.New(controller.Config{
		Health: nodehealth.Config{SightTimeout: 6 * time.Second},
	}, began)
	require.NoError(t, err)
	core.ObserveNode(began, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
		}},
	})
	core.MarkSynced(began)
	act := failing(t, core)
	for range 600 {
		time.Sleep(time.Second)
		core.Answered(time.Now(), time.Now())
		act()
	}
	time.Sleep(time.Minute)
	act()
	return core
}

// failing returns what ends all that a controller asks for now. Each action
// fails.
func failing(t *testing.T, core *controller.Controller) (act func()) {
	t.Helper()
	jobs, err := core.Jobs(answering(func(controller.NodeChange) (none controller.Result[*corev1.Node]) {
		return none
	}), time.Now())
	require.NoError(t, err)
	return func() {
		for job, ok := jobs.Start(time.Now()); ok; job, ok = jobs.Start(time.Now()) {
			job.Finish(time.Now())
		}
	}
}

// H4: a metric shows each doubt, and for how long there was one.
func TestH4DoubtsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		require.NoError(t, registry.Register(newDoubtMetrics(state{doubting(t)})))
		families, err := registry.Gather()
		require.NoError(t, err)
		values := map[string]float64{}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				name := family.GetName()
				for _, label := range metric.GetLabel() {
					name += " " + label.GetValue()
				}
				values[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
		reads := values["nodelifecycle_failed_live_reads_total"]
		require.Greater(t, reads, 10.0)
		require.Equal(t, map[string]float64{
			"nodelifecycle_doubt blind": 1, "nodelifecycle_doubt_seconds_total blind": 80, // 20 s in the beginning
			"nodelifecycle_doubt watch": 0, "nodelifecycle_doubt_seconds_total watch": 0,
			"nodelifecycle_doubt unread": 1, "nodelifecycle_doubt_seconds_total unread": 610,
			"nodelifecycle_doubt unconfirmed": 0, "nodelifecycle_doubt_seconds_total unconfirmed": 0,
			"nodelifecycle_doubt holding": 1, "nodelifecycle_doubt_seconds_total holding": 610,
			"nodelifecycle_doubt suspended": 0, "nodelifecycle_doubt_seconds_total suspended": 0,
			"nodelifecycle_doubt paused": 0, "nodelifecycle_doubt_seconds_total paused": 0,
			"nodelifecycle_doubt recovering": 0, "nodelifecycle_doubt_seconds_total recovering": 50,
			"nodelifecycle_refuted_silences_total": 0, "nodelifecycle_failed_live_reads_total": reads,
			"nodelifecycle_unconfirmed_nodes": 1, "nodelifecycle_undeclared_nodes": 0,
		}, values)
	})
}

func page(t *testing.T, core *controller.Controller, query string, warnings ...string) *httptest.ResponseRecorder {
	t.Helper()
	response := httptest.NewRecorder()
	newDoubtPage(state{core}, warnings).ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/doubt"+query, nil))
	return response
}

// H4: a page says what is doubted, and since when.
func TestH4DoubtsAreOnAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is 2000-01-01
		core := doubting(t)
		require.Equal(t, `blind: Since 2000-01-01T00:10:00Z the API server does not answer, or not every write, so heartbeats may be missed: no node is declared silent. While nothing is heard none is tainted NoExecute either, and no pod evicted for one of our taints.
unread: Since 2000-01-01T00:00:50Z live reads of leases fail, and leave 1 silent node undeclared.
holding: Since 2000-01-01T00:00:50Z all zones may be down, which is not confirmed: no taint is set or removed and no pod evicted for one of ours.
Silent nodes that are not confirmed: 1. Confirmed ones that have yet to be declared: 0.
Zone "" has no rate while its unconfirmed nodes are not heard or read.
Nodes that are silent or not ready and not acted on, because heartbeats may have been missed (blind): 1.
Node n in zone "" since 2000-01-01T00:00:50Z: blind
`, page(t, core, "").Body.String())

		core.Answered(time.Now(), time.Now())
		var shown doubtsJSON
		require.NoError(t, json.Unmarshal(page(t, core, "?format=json").Body.Bytes(), &shown))
		require.Len(t, shown.Doubts, 3)
		require.Equal(t, "blind", shown.Doubts[0].Kind)
		require.Equal(t, time.Date(2000, 1, 1, 0, 10, 0, 0, time.UTC), shown.Doubts[0].Since.UTC())
		require.Equal(t, http.StatusBadRequest, page(t, core, "?format=xml").Code)

		fresh, err := controller.New(controller.Config{}, time.Now())
		require.NoError(t, err)
		fresh.MarkSynced(time.Now())
		time.Sleep(time.Minute)
		failing(t, fresh)()
		require.Equal(t, `Nothing is doubted, 2000-01-01T00:12:00Z.
Silent nodes that are not confirmed: 0. Confirmed ones that have yet to be declared: 0.
`, page(t, fresh, "").Body.String())

		require.Contains(t, page(t, fresh, "", "a", "b").Body.String(), "Warning: a\nWarning: b\nNothing is doubted")
		require.Contains(t, page(t, fresh, "?format=json", "a").Body.String(), `"warnings":["a"]`)
	})
}

// H4: an Event about doubt is about the leader's lease.
func TestH4DoubtIsAnEventAboutTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		e := newEvents(t.Context(), cluster, &commandline.Process{LeaseName: "l", LeaseNamespace: "kube-system"})
		e.record(controller.Record{
			Type: corev1.EventTypeWarning, Reason: controller.ReasonDoubt, Message: "in doubt",
		})
		time.Sleep(time.Second)
		e.stop()
		list, err := cluster.CoreV1().Events("kube-system").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		require.Equal(t, corev1.ObjectReference{
			APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: "kube-system", Name: "l",
		}, list.Items[0].InvolvedObject)
		require.Equal(t, "in doubt", list.Items[0].Message)
		synctest.Wait()
	})
}

// A zone that keeps the rate of its disruption says so, and until when.
func TestAZoneThatRecoversIsOnThePageAndInAMetric(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is 2000-01-01
		core, err := controller.New(controller.Config{}, time.Now())
		require.NoError(t, err)
		observe := func(status corev1.ConditionStatus, names ...string) {
			for _, name := range names {
				core.ObserveNode(time.Now(), &corev1.Node{
					ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
					Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
						{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.Now()},
					}},
				})
			}
		}
		observe(corev1.ConditionTrue, "a", "b", "c", "d")
		core.MarkSynced(time.Now())
		observe(corev1.ConditionFalse, "a", "b", "c")
		time.Sleep(51 * time.Second)
		observe(corev1.ConditionTrue, "d")
		act := failing(t, core)
		act()
		observe(corev1.ConditionTrue, "a")
		act()
		require.Contains(t, page(t, core, "").Body.String(),
			"Zone \"\" recovers: until 2000-01-01T00:01:02Z its rate stays at 0 nodes a second, so that all nodes "+
				"that are back can be heard.\n")
		require.Contains(t, page(t, core, "?format=json").Body.String(),
			`"recoveringZones":[{"zone":"","rate":0,"until":"2000-01-01T00:01:02Z"}]`)
		metrics := newZoneMetrics(state{core}, newZoneCounter())
		require.NoError(t, testutil.CollectAndCompare(metrics, strings.NewReader(`
# HELP nodelifecycle_zone_recovering 1 while the zone keeps the rate of a disruption that has just ended, so that all nodes that are back can be heard.
# TYPE nodelifecycle_zone_recovering gauge
nodelifecycle_zone_recovering{zone=""} 1
`), "nodelifecycle_zone_recovering"))

		time.Sleep(11 * time.Second)
		act()
		require.NotContains(t, page(t, core, "").Body.String(), "recovers")
	})
}
