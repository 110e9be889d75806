package evictionreport

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/eviction"
)

// Config is what [Metrics] need.
type Config struct {
	// Registry is required.
	Registry prometheus.Registerer
	// Read is used for the gauges when they are asked for. They read running
	// counts, however many pods wait. With nil there are no gauges.
	Read Read
	// Budgets are those whose waiting pods are counted. One of all pods together
	// has no shares, and no count: how late the pods are tells that it is scarce.
	Budgets []eviction.Budget
}

// Metrics has the names of kube-controller-manager v1.37, so that dashboards
// and alerts go on working, and a few of its own. Durations are in seconds,
// also the one that upstream multiplies by 1e9
// (https://github.com/kubernetes/kubernetes/pull/141311, 141742).
type Metrics struct {
	deletions prometheus.Counter
	seconds   prometheus.Histogram
	attempts  *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(config Config) (*Metrics, error) {
	m := &Metrics{
		deletions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "taint_eviction_controller_pod_deletions_total",
			Help: "Pods that this controller has made leave their node, since its start.",
		}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "taint_eviction_controller_pod_deletion_duration_seconds",
			Help:    "Seconds between the time at which a pod had to leave and the API server's acceptance of that.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240},
		}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pod_eviction_attempts_total",
			Help: "Attempts to evict a pod, by what came of them and, where they did not succeed or nothing had to be done, " +
				"why.",
		}, []string{"outcome", "cause"}),
	}
	collectors := []prometheus.Collector{m.deletions, m.seconds, m.attempts}
	if config.Read != nil {
		collectors = append(collectors, newGauges(config))
	}
	for _, c := range collectors {
		if err := config.Registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// Acted counts the result of a task that ended at a time.
func (m *Metrics) Acted(task eviction.Task, result eviction.Result, ended time.Time) {
	outcome := cmp.Or(result.Outcome, eviction.OutcomeFailed)
	m.attempts.WithLabelValues(string(outcome), cause(result)).Inc()
	if outcome == eviction.OutcomeEvicted {
		m.deletions.Inc()
		m.seconds.Observe(ended.Sub(task.Decision.Due).Seconds())
	}
}

// cause is why work did not succeed, or why nothing had to be done. It is empty
// if it did.
func cause(result eviction.Result) string {
	switch {
	case result.Err != nil:
		return eviction.CauseOf(result.Err)
	case result.Outcome == eviction.OutcomeNotDue:
		return cmp.Or(string(result.Reason), canceled)
	}
	return ""
}

// canceled is the cause of OutcomeNotDue when the watches have made an eviction
// moot meanwhile. Otherwise the cause is the reason of the action's own
// decision.
const canceled = "Canceled"

// gauges read the state when they are scraped.
type gauges struct {
	read                            Read
	shared                          []eviction.Budget // those with shares
	pending, acting, oldest, budget *prometheus.Desc
}

func newGauges(config Config) *gauges {
	return &gauges{
		read: config.Read,
		shared: slices.DeleteFunc(slices.Clone(config.Budgets), func(b eviction.Budget) bool {
			return b.ByNode == nil && b.ByPod == nil
		}),
		pending: prometheus.NewDesc("pod_evictions_pending",
			"Pods that wait to be evicted, now or later, or are being evicted.", nil, nil),
		acting: prometheus.NewDesc("pod_evictions_acting", "Pods that are being evicted.", nil, nil),
		oldest: prometheus.NewDesc("pod_evictions_oldest_overdue_seconds",
			"For how long the pod that is overdue the longest should have left, 0 if none is.", nil, nil),
		budget: prometheus.NewDesc("pod_evictions_waiting_for_budget",
			"Pods that are due and wait for their share of a budget, of a node or a namespace for example.",
			[]string{"budget"}, nil),
	}
}

func (g *gauges) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{g.pending, g.acting, g.oldest, g.budget} {
		descs <- desc
	}
}

func (g *gauges) Collect(found chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		found <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	var pending, acting int
	var age time.Duration
	delayed := make([]int, len(g.shared))
	g.read(func(state State) {
		now := time.Now()
		pending, acting = state.Waiting(), state.Acting()
		if since, is := state.Overdue(now); is {
			age = now.Sub(since)
		}
		for i, b := range g.shared {
			delayed[i] = state.Delayed(b.Name)
		}
	})
	gauge(g.pending, float64(pending))
	gauge(g.acting, float64(acting))
	gauge(g.oldest, age.Seconds())
	for i, b := range g.shared {
		gauge(g.budget, float64(delayed[i]), b.Name)
	}
}
