package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

// View shows a fleet and its runtime to a function, alone. It calls nothing
// while the fleet does not act. Then all numbers are zero.
type View func(read func(fleet *kubelet.Fleet, runtime *cri.Fake))

// family is a metric with its labels.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func newFamily(kind prometheus.ValueType, name, help string, labels ...string) family {
	return family{desc: prometheus.NewDesc(name, help, labels, nil), kind: kind}
}

// fleet counts nodes, pods and containers when it is asked. Source of the
// names, labels and values: pkg/kubelet/metrics, v1.37.1.
type fleet struct {
	view View

	running, startedPods, containers, starts, nodes family
}

func newFleet(view View) *fleet {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	return &fleet{
		view:        view,
		running:     newFamily(gauge, "kubelet_running_pods", "Pods with a ready sandbox."),
		startedPods: newFamily(counter, "kubelet_started_pods_total", "Starts of pods: creations of a sandbox."),
		containers: newFamily(gauge, "kubelet_running_containers",
			"Containers that the runtime has, by state.", "container_state"),
		starts: newFamily(counter, "kubelet_started_containers_total",
			"Starts of containers, those that fail included.", "container_type"),
		nodes: newFamily(gauge, "hollownode_nodes",
			"Nodes by state: silent; failing or stopped without a runtime; else running.", "state"),
	}
}

// Describe sends what Collect can send.
func (f *fleet) Describe(out chan<- *prometheus.Desc) {
	for _, of := range []family{f.running, f.startedPods, f.containers, f.starts, f.nodes} {
		out <- of.desc
	}
}

// Collect reads the fleet.
func (f *fleet) Collect(out chan<- prometheus.Metric) {
	var nodes map[string]int
	var runtime cri.Counts
	f.view(func(fleet *kubelet.Fleet, fake *cri.Fake) { nodes, runtime = fleet.NodeStates(), fake.Counts() })
	number := func(of family, n int, labels ...string) {
		out <- prometheus.MustNewConstMetric(of.desc, of.kind, float64(n), labels...)
	}
	for state, n := range nodes {
		number(f.nodes, n, state)
	}
	number(f.running, runtime.Sandboxes)
	number(f.containers, runtime.Running, "running")
	number(f.containers, runtime.Exited, "exited")
	number(f.startedPods, runtime.SandboxStarts)
	for _, kind := range []cri.ContainerType{cri.ContainerTypeMain, cri.ContainerTypeInit} {
		number(f.starts, runtime.Starts[kind], string(kind))
	}
}
