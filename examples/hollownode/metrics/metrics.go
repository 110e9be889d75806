package metrics

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// ErrInvalidConfig is wrapped by the errors of [Config.Validate].
var ErrInvalidConfig = errors.New("invalid metrics config")

// Config is what [Metrics] need.
type Config struct {
	// Registry is required.
	Registry prometheus.Registerer
	// View is required. It is called when the metrics are asked for.
	View View
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	var problems []error
	if c.Registry == nil {
		problems = append(problems, fmt.Errorf("%w: Registry is nil, want a registry", ErrInvalidConfig))
	}
	if c.View == nil {
		problems = append(problems, fmt.Errorf("%w: View is nil, want a function", ErrInvalidConfig))
	}
	return errors.Join(problems...)
}

// Metrics counts tasks and heartbeats. It is safe for concurrent use.
type Metrics struct {
	tasks, beats *prometheus.CounterVec
	late         *prometheus.HistogramVec
}

var _ heartbeat.Metrics = (*Metrics)(nil)

// NewMetrics registers all metrics.
func NewMetrics(config Config) (*Metrics, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	m := &Metrics{
		tasks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hollownode_tasks_total",
			Help: "Calls by kind (PatchStatus, DeletePod, CreateMirror, DeleteMirror, RegisterNode, ReportNode, ListPods) " +
				"and outcome (done, failed). Failed ones are tried again.",
		}, []string{"kind", "outcome"}),
		beats: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hollownode_heartbeats_total",
			Help: "Heartbeats by kind (lease, status) and outcome (done, failed, withheld: the node is silent or being deleted).",
		}, []string{"kind", "outcome"}),
		late: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "hollownode_heartbeat_delay_seconds",
			Help:    "From when a heartbeat was due until the API server had answered, by kind.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, []string{"kind"}),
	}
	for _, c := range []prometheus.Collector{m.tasks, m.beats, m.late, newFleet(config.View)} {
		if err := config.Registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// Performed counts a task that has ended.
func (m *Metrics) Performed(kind kubelet.TaskKind, failure error) {
	outcome := "done"
	if failure != nil {
		outcome = "failed"
	}
	m.tasks.WithLabelValues(string(kind), outcome).Inc()
}

func (m *Metrics) beat(kind string, late time.Duration) {
	m.beats.WithLabelValues(kind, "done").Inc()
	m.late.WithLabelValues(kind).Observe(late.Seconds())
}

// LeaseRenewed counts a lease; see [heartbeat.Metrics].
func (m *Metrics) LeaseRenewed(late time.Duration) { m.beat("lease", late) }

// StatusReported counts a status; see [heartbeat.Metrics].
func (m *Metrics) StatusReported(late time.Duration) { m.beat("status", late) }

// LeaseFailed counts a lease that was not renewed.
func (m *Metrics) LeaseFailed() { m.beats.WithLabelValues("lease", "failed").Inc() }

// LeaseWithheld counts a lease of a node that falls silent or is being deleted.
func (m *Metrics) LeaseWithheld() { m.beats.WithLabelValues("lease", "withheld").Inc() }

// StatusFailed counts a status that was not reported.
func (m *Metrics) StatusFailed() { m.beats.WithLabelValues("status", "failed").Inc() }

// StatusWithheld counts a status of a node that falls silent.
func (m *Metrics) StatusWithheld() { m.beats.WithLabelValues("status", "withheld").Inc() }
