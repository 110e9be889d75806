package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
)

// nodesPerRead is how many nodes are looked at in one turn, so that a scrape of
// a large cluster keeps nothing waiting.
const nodesPerRead = 2000

// eachWait calls use for each node that is silent or not ready, and not acted
// on.
func eachWait(state reader, now time.Time, use func(controller.NodeWait)) {
	for first, nodes := 0, 1; first < nodes; first += nodesPerRead {
		var waits []controller.NodeWait
		state.read(func(c *controller.Controller) {
			nodes, _ = c.Len()
			waits = c.NodeWaits(now, first, nodesPerRead)
		})
		for _, wait := range waits {
			use(wait)
		}
	}
}

// waitMetrics counts the nodes that wait when it is asked.
type waitMetrics struct {
	state reader
	nodes *prometheus.Desc
}

func newWaitMetrics(state reader) *waitMetrics {
	return &waitMetrics{state, prometheus.NewDesc("nodelifecycle_waiting_nodes",
		"Nodes that are silent or not ready and have no NoExecute taint of this program, by why. /doubt lists them.",
		[]string{"reason"}, nil)}
}

func (m *waitMetrics) Describe(descs chan<- *prometheus.Desc) { descs <- m.nodes }

func (m *waitMetrics) Collect(found chan<- prometheus.Metric) {
	count := map[controller.WaitReason]int{}
	eachWait(m.state, time.Now(), func(wait controller.NodeWait) { count[wait.Reason]++ })
	for _, reason := range controller.WaitReasons() {
		found <- prometheus.MustNewConstMetric(m.nodes, prometheus.GaugeValue, float64(count[reason]), string(reason))
	}
}
