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

	desired, active, mirrors, workers, running family
	restarted, orphaned                        family
	startedPods, containers, starts, nodes     family
}

func newFleet(view View) *fleet {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	return &fleet{
		view: view,
		desired: newFamily(gauge, "kubelet_desired_pods",
			"Pods that the kubelets are told to run. Static ones are not from the API server.", "static"),
		active: newFamily(gauge, "kubelet_active_pods",
			"Pods that count when another one is admitted. Static ones are not from the API server.", "static"),
		mirrors: newFamily(gauge, "kubelet_mirror_pods", "Mirror pods, which show static pods in the API."),
		workers: newFamily(gauge, "kubelet_working_pods",
			"Pods that the kubelets take care of, by lifecycle (sync, terminating, terminated), config (desired, orphan: "+
				"gone from the API or the manifests, runtime_only: known from the runtime alone) and whether they are static.",
			"lifecycle", "config", "static"),
		running: newFamily(gauge, "kubelet_running_pods", "Pods with a ready sandbox."),
		restarted: newFamily(counter, "kubelet_restarted_pods_total",
			"Pods that came back with the same UID while they were ending, and began again.", "static"),
		orphaned: newFamily(counter, "kubelet_orphaned_runtime_pods_total",
			"Pods that only the runtime had running."),
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
	for _, of := range []family{
		f.desired, f.active, f.mirrors, f.workers, f.running, f.restarted, f.orphaned, f.startedPods,
		f.containers, f.starts, f.nodes,
	} {
		out <- of.desc
	}
}

// Collect reads the fleet.
func (f *fleet) Collect(out chan<- prometheus.Metric) {
	var pods kubelet.Counts
	var runtime cri.Counts
	f.view(func(fleet *kubelet.Fleet, fake *cri.Fake) { pods, runtime = fleet.Counts(), fake.Counts() })
	number := func(of family, n int, labels ...string) {
		out <- prometheus.MustNewConstMetric(of.desc, of.kind, float64(n), labels...)
	}
	for of, counts := range map[family]kubelet.BySource{
		f.desired: pods.Desired, f.active: pods.Active, f.restarted: pods.Restarted,
	} {
		number(of, counts.API, "")
		number(of, counts.Static, "true")
	}
	number(f.mirrors, pods.Mirrors)
	for _, worker := range workers() {
		number(f.workers, pods.Workers[worker], string(worker.Lifecycle), string(worker.Config), staticLabel(worker))
	}
	number(f.orphaned, pods.Orphaned)
	for state, n := range pods.Nodes {
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

// workers returns the kinds of pods that the kubelet always shows.
func workers() []kubelet.Worker {
	var all []kubelet.Worker
	for _, life := range []kubelet.Lifecycle{
		kubelet.LifecycleSync, kubelet.LifecycleTerminating, kubelet.LifecycleTerminated,
	} {
		for _, config := range []kubelet.ConfigState{kubelet.ConfigStateDesired, kubelet.ConfigStateOrphan} {
			all = append(all, kubelet.Worker{Lifecycle: life, Config: config},
				kubelet.Worker{Lifecycle: life, Config: config, Static: true})
		}
		all = append(all, kubelet.Worker{Lifecycle: life, Config: kubelet.ConfigStateRuntimeOnly})
	}
	return all
}

func staticLabel(worker kubelet.Worker) string {
	switch {
	case worker.Config == kubelet.ConfigStateRuntimeOnly:
		return "unknown"
	case worker.Static:
		return "true"
	default:
		return ""
	}
}
