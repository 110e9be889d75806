package process

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/timedqueue"
)

// dispatcherMetrics counts the actions that do not return.
type dispatcherMetrics struct{ panics, exits prometheus.Counter }

var _ timedqueue.DispatcherMetrics = (*dispatcherMetrics)(nil)

// NewDispatcherMetrics registers the metrics of a program's dispatcher.
func NewDispatcherMetrics(registry prometheus.Registerer) (timedqueue.DispatcherMetrics, error) {
	m := &dispatcherMetrics{
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dispatcher_action_panics_total",
			Help: "Actions that panicked. The program exits after the first one.",
		}),
		exits: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dispatcher_action_goexits_total",
			Help: "Actions that ended their goroutine instead of returning.",
		}),
	}
	for _, c := range []prometheus.Collector{m.panics, m.exits} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *dispatcherMetrics) ActionPanicked() { m.panics.Inc() }
func (m *dispatcherMetrics) ActionExited()   { m.exits.Inc() }
