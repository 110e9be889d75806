package main

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/process/evicting/evictionreport"
	"github.com/kubelife/lifecycle/zone"
)

// metrics has the names of kube-controller-manager v1.37, so that dashboards
// and alerts go on working, and a few of its own.
type metrics struct {
	nodesTainted   *zoneCounter
	declareSeconds prometheus.Histogram
	passSeconds    prometheus.Histogram
	failures       *prometheus.CounterVec
	evictions      *evictionreport.Metrics
}

// reader shows the state of a controller to the metrics that are gauges.
type reader interface {
	read(func(*controller.Controller))
}

// showing lets what shows evictions read the controller.
func showing(state reader) evictionreport.Read {
	return func(use func(evictionreport.State)) { state.read(func(c *controller.Controller) { use(c) }) }
}

func newMetrics(s *settings, registry prometheus.Registerer, state reader) (*metrics, error) {
	m := &metrics{
		nodesTainted: newZoneCounter(),
		declareSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "node_collector_update_node_health_duration_seconds",
			Help: "Duration in seconds of declaring one silent node: the read of its lease and the patch of its " +
				"conditions. Nodes that are not silent cost nothing here.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}),
		passSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "node_collector_update_all_nodes_health_duration_seconds",
			Help: "Duration in seconds of the look at all nodes that is taken every --node-monitor-period for safety. " +
				"Detection of silent nodes does not wait for it.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 8),
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodelifecycle_failed_actions_total",
			Help: "Writes to the API server that failed and were put back, by what they were to do.",
		}, []string{"action"}),
	}
	collectors := append(sightMetrics(state), dampedWrites(state), m.declareSeconds, m.passSeconds, m.failures,
		newZoneMetrics(state, m.nodesTainted), newDoubtMetrics(state), newWaitMetrics(state))
	for _, c := range append(collectors, staleMetrics(state)...) {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	var err error
	m.evictions, err = evictionreport.NewMetrics(evictionreport.Config{
		Registry: registry,
		Read:     showing(state),
		Budgets:  s.Controller().Eviction.Budgets,
	})
	return m, err
}

// sightMetrics tell when silent nodes are not declared because they could not
// have been heard.
func sightMetrics(state reader) []prometheus.Collector {
	sight := func() (blind time.Duration, now bool) {
		state.read(func(c *controller.Controller) { blind, now = c.Blind(time.Now()) })
		return blind, now
	}
	return []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "nodelifecycle_blind_seconds_total",
			Help: "Seconds in which the API server did not answer for longer than --node-blind-after. They count in no node's " +
				"grace period.",
		}, func() float64 {
			blind, _ := sight()
			return blind.Seconds()
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "nodelifecycle_blind",
			Help: "1 while the API server has not answered for longer than --node-blind-after, so that no node is declared " +
				"silent.",
		}, func() float64 {
			if _, now := sight(); now {
				return 1
			}
			return 0
		}),
	}
}

// dampedWrites tells of nodes that change so often that writing each change
// would keep others waiting.
func dampedWrites(state reader) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "nodelifecycle_damped_writes_total",
		Help: "Writes of taints, labels and pods' readiness that had to wait because their node had changed often shortly " +
			"before. Not all were written: some changes were taken back meanwhile.",
	}, func() float64 {
		var damped int
		state.read(func(c *controller.Controller) { damped = c.Damped() })
		return float64(damped)
	})
}

func (m *metrics) failed(action string) { m.failures.WithLabelValues(action).Inc() }

func (m *metrics) evicted(task eviction.Task, result eviction.Result, ended time.Time) {
	if result.Outcome == eviction.OutcomeFailed {
		m.failed("evict")
	}
	m.evictions.Acted(task, result, ended)
}

// zoneMetrics reads the zones when it is asked, so that a zone that is gone is
// gone from the gauges too.
type zoneMetrics struct {
	state                        reader
	tainted                      *zoneCounter
	evictions                    *prometheus.Desc
	health, size, unhealthy      *prometheus.Desc
	rate, recovering, queued, at *prometheus.Desc
}

func newZoneMetrics(state reader, tainted *zoneCounter) *zoneMetrics {
	byZone := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"zone"}, nil)
	}
	return &zoneMetrics{
		state:   state,
		tainted: tainted,
		evictions: byZone("node_collector_evictions_total", "Number of Node evictions that happened since current instance "+
			"of NodeController started: nodes that were tainted NoExecute. Of the zones that have no node any more, the 64 "+
			"that counted last are shown."),
		health:    byZone("node_collector_zone_health", "Gauge measuring percentage of healthy nodes per zone."),
		size:      byZone("node_collector_zone_size", "Gauge measuring number of registered Nodes per zones."),
		unhealthy: byZone("node_collector_unhealthy_nodes_in_zone", "Gauge measuring number of not Ready Nodes per zones."),
		rate:      byZone("nodelifecycle_zone_rate", "Nodes a second that may be tainted NoExecute in the zone now."),
		recovering: byZone("nodelifecycle_zone_recovering", "1 while the zone keeps the rate of a disruption that has just "+
			"ended, so that all nodes that are back can be heard."),
		queued: byZone("nodelifecycle_zone_queued_nodes", "Nodes that wait for their NoExecute taint."),
		at: prometheus.NewDesc("nodelifecycle_cluster_phase",
			"1 for the phase that the cluster is in: Active, Holding, Paused, Suspended or Recovering.", []string{"phase"}, nil),
	}
}

func (g *zoneMetrics) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{g.evictions, g.health, g.size, g.unhealthy, g.rate, g.recovering, g.queued, g.at} {
		descs <- desc
	}
}

func (g *zoneMetrics) Collect(found chan<- prometheus.Metric) {
	var zones []zone.Status
	var phase zone.Phase
	queued := map[string]int{}
	g.state.read(func(c *controller.Controller) {
		zones, phase = c.Zones(), c.Phase()
		for _, z := range zones {
			queued[z.Zone] = c.Queued(z.Zone)
		}
	})
	for name, count := range g.tainted.of(zones) {
		found <- prometheus.MustNewConstMetric(g.evictions, prometheus.CounterValue, count, name)
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		found <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, z := range zones {
		health := 100.0
		if size := z.Counts.Size(); size > 0 {
			health = 100 * float64(z.Counts.Ready) / float64(size)
		}
		gauge(g.health, health, z.Zone)
		gauge(g.size, float64(z.Counts.Size()), z.Zone)
		gauge(g.unhealthy, float64(z.Counts.NotReady), z.Zone)
		gauge(g.rate, z.Rate, z.Zone)
		recovers := 0.0
		if !z.HeldUntil.IsZero() {
			recovers = 1
		}
		gauge(g.recovering, recovers, z.Zone)
		gauge(g.queued, float64(queued[z.Zone]), z.Zone)
	}
	gauge(g.at, 1, string(phase))
}
