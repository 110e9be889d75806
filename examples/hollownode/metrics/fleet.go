package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

// View shows a fleet to a function, alone. It calls nothing while the fleet does
// not act. Then all numbers are zero.
type View func(read func(fleet *kubelet.Fleet))

// fleet counts nodes when it is asked.
type fleet struct {
	view  View
	nodes *prometheus.Desc
}

func newFleet(view View) *fleet {
	return &fleet{view: view, nodes: prometheus.NewDesc("hollownode_nodes",
		"Nodes by state: silent; failing or stopped without a runtime; else running.", []string{"state"}, nil)}
}

// Describe sends what Collect can send.
func (f *fleet) Describe(out chan<- *prometheus.Desc) { out <- f.nodes }

// Collect reads the fleet.
func (f *fleet) Collect(out chan<- prometheus.Metric) {
	var nodes map[string]int
	f.view(func(fleet *kubelet.Fleet) { nodes = fleet.NodeStates() })
	for state, n := range nodes {
		out <- prometheus.MustNewConstMetric(f.nodes, prometheus.GaugeValue, float64(n), state)
	}
}
