package evictionreport

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/process/serving"
)

// A page about a million pods that wait. The longest turn is the longest time
// for which the tracker is locked.
func BenchmarkPage(b *testing.B) {
	const nodes, each = 10_000, 100
	start := time.Now()
	tracker, err := eviction.NewTracker(eviction.Config{}, start)
	require.NoError(b, err)
	tolerations := []corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To[int64](300)}}
	for n := range nodes {
		name := fmt.Sprintf("n%d", n)
		tracker.ObserveNode(start, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}},
		})
		for p := range each {
			pod := fmt.Sprintf("%s-%d", name, p)
			tracker.ObservePod(start, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: pod, UID: types.UID(pod)},
				Spec:       corev1.PodSpec{NodeName: name, Tolerations: tolerations},
			})
		}
	}
	require.Equal(b, nodes*each, tracker.Waiting())
	longest := time.Duration(0)
	read := func(look func(State)) {
		began := time.Now()
		look(tracker)
		longest = max(longest, time.Since(began))
	}
	b.Run("metrics", func(b *testing.B) {
		registry := prometheus.NewRegistry()
		_, err := NewMetrics(Config{Registry: registry, Read: read})
		require.NoError(b, err)
		longest = 0
		for b.Loop() {
			_, err := registry.Gather()
			require.NoError(b, err)
		}
		b.ReportMetric(float64(longest.Microseconds())/1000, "ms/longest-turn")
	})
	b.Run("page", func(b *testing.B) {
		longest = 0
		for b.Loop() {
			_, err := list(b.Context(), read, MaxLimit)
			require.NoError(b, err)
		}
		b.ReportMetric(float64(longest.Microseconds())/1000, "ms/longest-turn")
	})
	for _, callers := range []int{0, 8} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) { amongCallers(b, tracker, callers) })
	}
}

// amongCallers measures turns of others with the tracker while so many callers
// ask for the page all the time. There is one turn at a time.
func amongCallers(b *testing.B, tracker *eviction.Tracker, callers int) {
	var turn sync.Mutex
	page := serving.NewPage(NewPage(func(look func(State)) {
		turn.Lock()
		defer turn.Unlock()
		look(tracker)
	}))
	ctx, stop := context.WithCancel(b.Context())
	var asking sync.WaitGroup
	for range callers {
		asking.Go(func() {
			for ctx.Err() == nil {
				answer := httptest.NewRecorder()
				page.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/pending?limit=10000", nil))
				if answer.Code == http.StatusServiceUnavailable {
					time.Sleep(100 * time.Millisecond)
				}
			}
		})
	}
	waited, longest := time.Duration(0), time.Duration(0)
	turns := 0
	for b.Loop() {
		began := time.Now()
		turn.Lock()
		waited += time.Since(began)
		longest = max(longest, time.Since(began))
		for range 100 { // about what an eviction costs the tracker
			tracker.Waiting()
		}
		turn.Unlock()
		turns++
		time.Sleep(100 * time.Microsecond)
	}
	b.ReportMetric(float64(longest.Microseconds())/1000, "ms/longest-wait")
	b.ReportMetric(float64(waited.Microseconds())/float64(turns), "µs/wait")
	stop()
	asking.Wait()
}
