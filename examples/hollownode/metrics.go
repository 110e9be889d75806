package main

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// metrics has names of the kubelet v1.37 with sums over the fleet, and a few
// names of its own.
type metrics struct {
	tasks, beats *prometheus.CounterVec
	late         *prometheus.HistogramVec
}

var _ heartbeat.Metrics = (*metrics)(nil)

// view shows the fleet, alone, if it acts.
type view = func(read func(*kubelet.Fleet, *cri.Fake))

func newMetrics(registry prometheus.Registerer, show view) (*metrics, error) {
	m := &metrics{
		tasks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hollownode_tasks_total",
			Help: "Calls by kind (PatchStatus, DeletePod, CreateMirror, DeleteMirror, RegisterNode, ReportNode, ListPods) " +
				"and outcome (done, failed). Failed ones are tried again.",
		}, []string{"kind", "outcome"}),
		beats: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hollownode_heartbeats_total",
			Help: "Heartbeats by kind (lease, status) and outcome (done, failed, withheld: the node is being deleted).",
		}, []string{"kind", "outcome"}),
		late: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "hollownode_heartbeat_delay_seconds",
			Help:    "From when a heartbeat was due until the API server had answered, by kind.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, []string{"kind"}),
	}
	for _, c := range []prometheus.Collector{m.tasks, m.beats, m.late, &sums{show}} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// performed counts a task that has ended.
func (m *metrics) performed(kind kubelet.TaskKind, failure error) {
	outcome := "done"
	if failure != nil {
		outcome = "failed"
	}
	m.tasks.WithLabelValues(string(kind), outcome).Inc()
}

func (m *metrics) beat(kind string, late time.Duration) {
	m.beats.WithLabelValues(kind, "done").Inc()
	m.late.WithLabelValues(kind).Observe(late.Seconds())
}

func (m *metrics) LeaseRenewed(late time.Duration)   { m.beat("lease", late) }
func (m *metrics) StatusReported(late time.Duration) { m.beat("status", late) }
func (m *metrics) LeaseFailed()                      { m.beats.WithLabelValues("lease", "failed").Inc() }
func (m *metrics) LeaseWithheld()                    { m.beats.WithLabelValues("lease", "withheld").Inc() }
func (m *metrics) StatusFailed()                     { m.beats.WithLabelValues("status", "failed").Inc() }
func (m *metrics) StatusWithheld()                   { m.beats.WithLabelValues("status", "withheld").Inc() }

// sums counts nodes, pods and containers when it is asked.
type sums struct{ show view }

// Names and labels of the kubelet. The label static is "true" or empty. Source:
// pkg/kubelet/metrics, v1.37.1.
var (
	desiredPods = prometheus.NewDesc("kubelet_desired_pods",
		"Pods that the kubelets have been told to run.", []string{"static"}, nil)
	activePods = prometheus.NewDesc("kubelet_active_pods",
		"Pods that the kubelets run or begin to run, and that have not begun to end.", []string{"static"}, nil)
	mirrorPods = prometheus.NewDesc("kubelet_mirror_pods",
		"Mirror pods, which show static pods in the API.", nil, nil)
	workingPods = prometheus.NewDesc("kubelet_working_pods",
		"Pods by lifecycle: sync, terminating, terminated.", []string{"lifecycle"}, nil)
	runningPods = prometheus.NewDesc("kubelet_running_pods",
		"Pods with a ready sandbox.", nil, nil)
	runningContainers = prometheus.NewDesc("kubelet_running_containers",
		"Containers that the runtime has, by state.", []string{"container_state"}, nil)
	startedContainers = prometheus.NewDesc("kubelet_started_containers_total",
		"Containers that were started.", nil, nil)
	nodeMetric = prometheus.NewDesc("hollownode_nodes",
		"Nodes by state: silent; failing or stopped without a runtime; else running.", []string{"state"}, nil)
)

func (s *sums) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		desiredPods, activePods, mirrorPods, workingPods, runningPods, runningContainers, startedContainers, nodeMetric,
	} {
		out <- desc
	}
}

func (s *sums) Collect(out chan<- prometheus.Metric) {
	var fleet kubelet.Counts
	var runtime cri.Counts
	s.show(func(f *kubelet.Fleet, r *cri.Fake) { fleet, runtime = f.Counts(), r.Counts() })
	gauge := func(desc *prometheus.Desc, n int, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels...)
	}
	all := fleet.Syncing + fleet.Terminating + fleet.Terminated + fleet.Finished
	gauge(desiredPods, all-fleet.Static, "")
	gauge(desiredPods, fleet.Static, "true")
	gauge(activePods, fleet.Syncing-fleet.StaticSyncing, "")
	gauge(activePods, fleet.StaticSyncing, "true")
	gauge(mirrorPods, fleet.Mirrors)
	gauge(workingPods, fleet.Syncing, "sync")
	gauge(workingPods, fleet.Terminating, "terminating")
	gauge(workingPods, fleet.Terminated, "terminated")
	gauge(runningPods, runtime.Sandboxes)
	gauge(runningContainers, runtime.Running, "running")
	gauge(runningContainers, runtime.Exited, "exited")
	out <- prometheus.MustNewConstMetric(startedContainers, prometheus.CounterValue, float64(runtime.Started))
	for state, n := range fleet.Nodes {
		gauge(nodeMetric, n, state)
	}
}
