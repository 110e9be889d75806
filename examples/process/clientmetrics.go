package process

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/tools/metrics"
)

// processMetrics returns a registry with what a process shows of itself
// whatever it does: go_* and process_*.
func processMetrics() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return registry
}

// Names, labels and buckets are those of k8s.io/component-base v0.37.1, package
// metrics/prometheus/restclient, so that dashboards of kube-controller-manager
// go on working.
var (
	secondsBuckets = []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}
	bytesBuckets   = []float64{64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}
)

// clientMetrics registers the rest_client_* metrics and returns what client-go
// fills them through. metrics.Register takes it, and only the first one in a
// process.
func clientMetrics(registry prometheus.Registerer) (metrics.RegisterOpts, error) {
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rest_client_" + name, Help: help, Buckets: buckets,
		}, []string{"verb", "host"})
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rest_client_" + name, Help: help}, labels)
	}
	requests := counter("requests_total",
		"HTTP requests by status code, method and host.", "code", "method", "host")
	retries := counter("request_retries_total",
		"Requests that client-go itself has sent again, by status code, verb and host.", "code", "verb", "host")
	transports := counter("transport_create_calls_total",
		"Calls for a transport by result: hit, miss, miss-gc or uncacheable.", "result")
	cached := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "rest_client_transport_cache_entries", Help: "Transports in client-go's cache.",
	})
	latency := histogram("request_duration_seconds", "Latency of requests in seconds, by verb and host.", secondsBuckets)
	limiter := histogram("rate_limiter_duration_seconds",
		"Seconds that requests waited for the client's rate limiter, by verb and host.", secondsBuckets)
	sent := histogram("request_size_bytes", "Size of requests in bytes, by verb and host.", bytesBuckets)
	received := histogram("response_size_bytes", "Size of responses in bytes, by verb and host.", bytesBuckets)
	for _, c := range []prometheus.Collector{requests, retries, transports, cached, latency, limiter, sent, received} {
		if err := registry.Register(c); err != nil {
			return metrics.RegisterOpts{}, fmt.Errorf("register client metrics: %w", err)
		}
	}
	return metrics.RegisterOpts{
		RequestResult:         resultCounter{requests},
		RequestRetry:          retryCounter{retries},
		RequestLatency:        latencyHistogram{latency},
		RateLimiterLatency:    latencyHistogram{limiter},
		RequestSize:           sizeHistogram{sent},
		ResponseSize:          sizeHistogram{received},
		TransportCacheEntries: entriesGauge{cached},
		TransportCreateCalls:  resultOnly{transports},
	}, nil
}

type (
	resultCounter    struct{ vec *prometheus.CounterVec }
	retryCounter     struct{ vec *prometheus.CounterVec }
	resultOnly       struct{ vec *prometheus.CounterVec }
	latencyHistogram struct{ vec *prometheus.HistogramVec }
	sizeHistogram    struct{ vec *prometheus.HistogramVec }
	entriesGauge     struct{ gauge prometheus.Gauge }
)

func (c resultCounter) Increment(_ context.Context, code, method, host string) {
	c.vec.WithLabelValues(code, method, host).Inc()
}

func (c retryCounter) IncrementRetry(_ context.Context, code, verb, host string) {
	c.vec.WithLabelValues(code, verb, host).Inc()
}

func (c resultOnly) Increment(result string) { c.vec.WithLabelValues(result).Inc() }

func (h latencyHistogram) Observe(_ context.Context, verb string, u url.URL, latency time.Duration) {
	h.vec.WithLabelValues(verb, u.Host).Observe(latency.Seconds())
}

func (h sizeHistogram) Observe(_ context.Context, verb, host string, size float64) {
	h.vec.WithLabelValues(verb, host).Observe(size)
}

func (g entriesGauge) Observe(entries int) { g.gauge.Set(float64(entries)) }
