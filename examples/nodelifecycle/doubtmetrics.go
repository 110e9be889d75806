package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
)

// doubtMetrics count what delays the declaration of dead nodes, by the running
// counts of the controller.
type doubtMetrics struct {
	state                                                      reader
	now, seconds, refuted, unread, unconfirmed, yetToBeWritten *prometheus.Desc
}

func newDoubtMetrics(state reader) *doubtMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &doubtMetrics{
		state: state,
		now: desc("nodelifecycle_doubt", "1 while there is a doubt of the kind, which delays the declaration of "+
			"dead nodes (blind, watch, unread, unconfirmed, holding) or their NoExecute taints (suspended, paused, recovering). "+
			"/doubt says since when.", "kind"),
		seconds: desc("nodelifecycle_doubt_seconds_total", "Seconds in which there was a doubt of the kind.", "kind"),
		refuted: desc("nodelifecycle_refuted_silences_total",
			"Silent nodes that a live read of them or their lease has shown to be alive: the watch was behind."),
		unread: desc("nodelifecycle_failed_live_reads_total",
			"Live reads of leases that failed. Silent nodes stay unconfirmed until one succeeds."),
		unconfirmed: desc("nodelifecycle_unconfirmed_nodes", "Silent nodes that no live read has confirmed."),
		yetToBeWritten: desc("nodelifecycle_undeclared_nodes",
			"Confirmed silent nodes whose conditions have yet to be written."),
	}
}

func (m *doubtMetrics) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{m.now, m.seconds, m.refuted, m.unread, m.unconfirmed, m.yetToBeWritten} {
		descs <- desc
	}
}

func (m *doubtMetrics) Collect(found chan<- prometheus.Metric) {
	kinds := controller.DoubtKinds()
	seconds := make([]float64, len(kinds))
	present := map[controller.DoubtKind]float64{}
	var refuted, unread, unconfirmed, undeclared int
	now := time.Now()
	m.state.read(func(c *controller.Controller) {
		for i, kind := range kinds {
			seconds[i] = c.Doubted(now, kind).Seconds()
		}
		for _, d := range c.Doubts(now) {
			present[d.Kind] = 1
		}
		refuted, unread = c.Refuted(), c.Unread()
		unconfirmed, undeclared = c.Unconfirmed(), c.Undeclared()
	})
	show := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		found <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
	}
	for i, kind := range kinds {
		show(m.now, prometheus.GaugeValue, present[kind], string(kind))
		show(m.seconds, prometheus.CounterValue, seconds[i], string(kind))
	}
	show(m.refuted, prometheus.CounterValue, float64(refuted))
	show(m.unread, prometheus.CounterValue, float64(unread))
	show(m.unconfirmed, prometheus.GaugeValue, float64(unconfirmed))
	show(m.yetToBeWritten, prometheus.GaugeValue, float64(undeclared))
}
