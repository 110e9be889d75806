package shadow

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// newShadow is a shadow that leads, with the pod cart on the node n.
func newShadow(t *testing.T, config RecordConfig) *Shadow {
	t.Helper()
	s, err := New(config)
	require.NoError(t, err)
	s.ObserveNode(time.Now(), newNode(0))
	s.ObservePod(time.Now(), newPod())
	s.Begin()
	return s
}

func evictCart(t *testing.T, s *Shadow) {
	t.Helper()
	require.NoError(t, s.Pods("shop").EvictV1(t.Context(), &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"},
	}))
}

func ask(s *Shadow, query string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	NewPage(s).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/shadow"+query, nil))
	return w
}

func TestC7TheReportShowsWhatDiffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShadow(t, RecordConfig{})
		require.Contains(t, ask(s, "").Body.String(), "\nNo differences.\n")
		evictCart(t, s)
		text := ask(s, "").Body.String()
		require.Regexp(t, `EvictPod +Open +1`, text)
		require.Contains(t, text, "1 of 1 differences:")
		require.Regexp(t, `shop/cart +EvictPod +Open +2000-01-01T00:00:00.000Z +- +-\n`, text)
		time.Sleep(90 * time.Second)
		s.ForgetPod(time.Now(), newPod())

		text = ask(s, "?format=text").Body.String()
		require.Regexp(t, `EvictPod +Earlier +1 +1m30s`, text)
		require.Regexp(t, `cart +EvictPod +Earlier +-1m30s +2000-01-01T00:00:00.000Z +2000-01-01T00:01:30.000Z +-\n`, text)
		var table strings.Builder
		s.WriteTable(&table)
		require.Equal(t, text, table.String())

		var page reportJSON
		answer := ask(s, "?format=json&limit=1")
		require.Equal(t, "application/json", answer.Header().Get("Content-Type"))
		require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &page))
		require.Equal(t, []tallyJSON{{ActionEvictPod, VerdictEarlier, 1, 90, 0}}, page.Tallies)
		require.Len(t, page.Differences, 1)
		require.Equal(t, "cart", page.Differences[0].Name)
		require.Equal(t, -90.0, page.Differences[0].BySeconds)
		require.NotContains(t, answer.Body.String(), "ended")
	})
}

func TestC7ThePageIsBounded(t *testing.T) {
	s := newShadow(t, RecordConfig{MostKept: 3})
	for i := range 20 {
		s.world.record.Shadow(after(i), taintOn(fmt.Sprint(i)), true)
		s.world.record.Cluster(after(i), Fact{Object: Object{Name: fmt.Sprint(i)}, Kind: FactKindUnknown}, true)
		s.world.record.End(after(i+1), Fact{Object: Object{Name: fmt.Sprint(i)}, Kind: FactKindUnknown})
	}
	for query, rows := range map[string]int{"": 23, "&limit=2": 2, "&limit=5": 5, "&limit=10000": 23} {
		var page reportJSON
		require.NoError(t, json.Unmarshal(ask(s, "?format=json"+query).Body.Bytes(), &page))
		require.Len(t, page.Differences, rows, query)
		require.Equal(t, 17, page.Tallies[0].Dropped)
	}
	for _, query := range []string{"?limit=0", "?limit=10001", "?limit=x", "?format=xml"} {
		require.Equal(t, http.StatusBadRequest, ask(s, query).Code, query)
	}
}

func TestC7MetricsCountComparisons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShadow(t, RecordConfig{})
		registry := prometheus.NewPedanticRegistry()
		require.NoError(t, s.Register(registry))
		evictCart(t, s)
		for _, by := range []string{"shadow", "cluster"} {
			for _, action := range actions {
				want := 0.0
				if action == ActionEvictPod && by == "shadow" {
					want = 1
				}
				require.Equal(t, want, valueOf(t, registry, "shadow_open_actions", string(action), by))
			}
		}
		time.Sleep(time.Minute)
		s.ForgetPod(time.Now(), newPod())
		require.Equal(t, 1.0, valueOf(t, registry, "shadow_compared_actions_total", "EvictPod", "Earlier"))
		require.Equal(t, 60.0, valueOf(t, registry, "shadow_largest_difference_seconds", "EvictPod", "Earlier"))
		require.Equal(t, 0.0, valueOf(t, registry, "shadow_dropped_differences_total", "EvictPod", "Earlier"))
		require.Error(t, s.Register(registry), "twice")
	})
}

// valueOf returns the value of the series of a metric with these labels.
func valueOf(t *testing.T, registry *prometheus.Registry, name string, labels ...string) float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var has []string
			for _, label := range m.GetLabel() {
				has = append(has, label.GetValue())
			}
			if family.GetName() == name && slices.Equal(has, labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("no series %s %v", name, labels)
	return 0
}

func TestC7ClientsAnswerFromMemory(t *testing.T) {
	s := newShadow(t, RecordConfig{})
	node, err := s.Nodes().Get(t.Context(), "n", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, newNode(0), node)
	patch := []byte(`{"metadata":{"uid":"u","labels":{"a":"b"}}}`)
	node, err = s.Nodes().Patch(t.Context(), "n", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, "b", node.Labels["a"])
	pods := s.Pods("shop")
	patch = []byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`)
	pod, err := pods.Patch(t.Context(), "cart", types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.Equal(t, corev1.ConditionFalse, podReady(pod))
	require.Error(t, pods.Delete(t.Context(), "none", metav1.DeleteOptions{}))
	require.NoError(t, pods.Delete(t.Context(), "cart", metav1.DeleteOptions{}))
	pod, err = pods.Get(t.Context(), "cart", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotNil(t, pod.DeletionTimestamp)
	s.ForgetNode(time.Now(), newNode(0))
	_, err = s.Nodes().Get(t.Context(), "n", metav1.GetOptions{})
	require.Error(t, err)
}
