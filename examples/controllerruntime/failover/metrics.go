package failover

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics is what a controller counts. Gauges are read when they are asked for.
type metrics struct {
	tasks *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer, read func(func(*Core))) (*metrics, error) {
	m := &metrics{tasks: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "failover_tasks_total", Help: "Patches of clusters and bindings, by kind and outcome.",
	}, []string{"kind", "outcome"})}
	gauge := func(name, help string, value func(c *Core, now time.Time) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() (v float64) {
			read(func(c *Core) { v = value(c, time.Now()) })
			return v
		})
	}
	return m, errors.Join(
		registry.Register(m.tasks),
		registry.Register(gauge("failover_clusters_silent", "Clusters whose grace period is over.",
			func(c *Core, _ time.Time) float64 { return float64(c.Silent()) })),
		registry.Register(gauge("controller_halted",
			"1 while an annotation of the leader's Lease holds moves and new taints.",
			func(c *Core, _ time.Time) float64 {
				if c.Halted() {
					return 1
				}
				return 0
			})),
		registry.Register(gauge("failover_bindings_waiting",
			"Moves of bindings that must happen, now or later: of each from each of its clusters.",
			func(c *Core, _ time.Time) float64 { return float64(c.moves.Waiting()) })),
		registry.Register(gauge("failover_oldest_overdue_seconds", "How late the binding is that should have moved first.",
			func(c *Core, now time.Time) float64 {
				if since, is := c.moves.Overdue(now); is {
					return now.Sub(since).Seconds()
				}
				return 0
			})),
	)
}

func (m *metrics) acted(kind, outcome string) {
	m.tasks.WithLabelValues(kind, outcome).Inc()
}
