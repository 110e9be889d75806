package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
)

// staleMetrics tell when caches are behind the API server.
func staleMetrics(state reader) []prometheus.Collector {
	counter := func(name, help string, of func(*controller.Controller) int) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 {
			var count int
			state.read(func(c *controller.Controller) { count = of(c) })
			return float64(count)
		})
	}
	return []prometheus.Collector{
		counter("nodelifecycle_refused_writes_total",
			"Writes to nodes and pods that the API server refused because the object is not the one that they were "+
				"computed from, or is gone. It is read before the next one.",
			(*controller.Controller).Refused),
		counter("nodelifecycle_stale_objects_total",
			"Live reads after refused writes that have shown a node or pod that the watch had not.",
			(*controller.Controller).Stale),
	}
}
