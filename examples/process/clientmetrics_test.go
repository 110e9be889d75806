package process

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/metrics"
)

// gathered returns the metrics of a registry, histograms as their sums, by name
// and labels.
func gathered(t *testing.T, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	found := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += fmt.Sprintf(" %s=%s", label.GetName(), label.GetValue())
			}
			found[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() +
				metric.GetHistogram().GetSampleSum()
		}
	}
	return found
}

// The names and labels are those that dashboards of kube-controller-manager
// query.
func TestClientMetricsAreNamedAsUpstreams(t *testing.T) {
	registry := prometheus.NewRegistry()
	hooks, err := clientMetrics(registry)
	require.NoError(t, err)
	ctx, host := t.Context(), url.URL{Host: "h"}
	hooks.RequestResult.Increment(ctx, "200", http.MethodGet, "h")
	hooks.RequestRetry.IncrementRetry(ctx, "429", "GET", "h")
	hooks.RequestLatency.Observe(ctx, "GET", host, 500*time.Millisecond)
	hooks.RateLimiterLatency.Observe(ctx, "GET", host, time.Second)
	hooks.RequestSize.Observe(ctx, "GET", "h", 100)
	hooks.ResponseSize.Observe(ctx, "GET", "h", 300)
	hooks.TransportCacheEntries.Observe(3)
	hooks.TransportCreateCalls.Increment("hit")
	require.Equal(t, map[string]float64{
		"rest_client_requests_total code=200 host=h method=GET":      1,
		"rest_client_request_retries_total code=429 host=h verb=GET": 1,
		"rest_client_request_duration_seconds host=h verb=GET":       0.5,
		"rest_client_rate_limiter_duration_seconds host=h verb=GET":  1,
		"rest_client_request_size_bytes host=h verb=GET":             100,
		"rest_client_response_size_bytes host=h verb=GET":            300,
		"rest_client_transport_cache_entries":                        3,
		"rest_client_transport_create_calls_total result=hit":        1,
	}, gathered(t, registry))
}

// The hooks are global, so the first Run of the process has set them.
func TestRunCountsTheRequestsOfItsClients(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	require.Error(t, newWorker().program(t, false).Run(t.Context(), &rest.Config{Host: server.URL}))
	counter, is := metrics.RequestResult.(resultCounter)
	require.True(t, is, "%T", metrics.RequestResult)
	registry := prometheus.NewRegistry()
	registry.MustRegister(counter.vec)
	address := strings.TrimPrefix(server.URL, "http://")
	require.Equal(t, 1.0, gathered(t, registry)["rest_client_requests_total code=404 host="+address+" method=GET"])
}
