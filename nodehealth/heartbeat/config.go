package heartbeat

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// Defaults of the kubelet v1.37, and where its source has them.
const (
	defaultLeaseDuration  = 40 * time.Second // NodeLeaseDurationSeconds, pkg/kubelet/apis/config/v1beta1/defaults.go
	renewIntervalFraction = 4                // nodeLeaseRenewIntervalFraction is 0.25, pkg/kubelet/kubelet.go
	defaultStatusInterval = 10 * time.Second // NodeStatusUpdateFrequency, pkg/kubelet/apis/config/v1beta1/defaults.go
	defaultReportInterval = 5 * time.Minute  // NodeStatusReportFrequency, the same file
	defaultJitter         = 0.04             // of both loops: k8s.io/component-helpers/apimachinery/lease/controller.go and pkg/kubelet/kubelet.go
)

// defaultWorkers is ours: 10,000 nodes renew 1,000 leases a second,
// which keeps 20 workers busy when a call takes 20 ms.
const defaultWorkers = 32

// Config says where [Sender] sends the beats of its nodes, and when.
// The zero value of each time is the kubelet's default.
//
// The clients must not throttle: client-go's default of 5 calls a second is
// enough for 50 nodes. Set QPS to -1, as the kubelet does for its heartbeats.
type Config struct {
	// Leases writes the leases, in namespace kube-node-lease. Nil means that no
	// node has a lease. client-go: CoordinationV1().Leases(corev1.NamespaceNodeLease).
	//
	// Give it a connection of its own, apart from that of Nodes and of the rest of
	// the program. One stuck TCP connection then stops status reports, or pods, but
	// not the leases (kubernetes #48638, #63492, #108107).
	Leases LeaseClient

	// Nodes writes the nodes' status. Nil means that no node reports one.
	// client-go: CoreV1().Nodes().
	Nodes NodeClient

	// Cache shows what the API server has of the nodes, from an informer say. With
	// it, a status that somebody else has overwritten is reported again within
	// StatusInterval: Ready set to Unknown by the node lifecycle controller, when
	// beats came late. Nil means none: then it can take until the next report that
	// is due for another reason. It costs no calls, and saves one for each node.
	// client-go: the NodeLister.
	Cache NodeCache

	// LeaseDuration is how long a lease counts without renewal. It is written into
	// the lease in whole seconds, rounded up. Zero means 40 s.
	LeaseDuration time.Duration
	// RenewInterval is the time from one renewal to the next. Zero means a quarter
	// of LeaseDuration.
	RenewInterval time.Duration
	// StatusInterval is the time from one look at a node's status to the next. A
	// look makes a call only when a report is due. Zero means 10 s.
	StatusInterval time.Duration
	// ReportInterval is the time from one report to the next when the status does
	// not change. After a report that is not about the period, the next one comes
	// after a random 0.5 to 1.5 of it, so that nodes that started together do not
	// report together (kubernetes #124202). Zero means 5 min.
	ReportInterval time.Duration
	// Jitter is the share by which RenewInterval and StatusInterval are lengthened
	// at most, each time anew. Zero means 0.04.
	Jitter float64
	// Timeout bounds one beat: Alive, Status and all calls together. Zero means
	// RenewInterval. (The kubelet's heartbeat client gives each call 10 s:
	// cmd/kubelet/app/server.go.)
	Timeout time.Duration
	// Workers is how many beats run at a time, of each of the two kinds: renewals
	// never wait for status reports. Zero means 32.
	Workers int

	// Rand returns numbers in [0, 1). It is called with a lock held, one call at a
	// time. Nil means math/rand/v2's Float64.
	Rand func() float64
	// Metrics is told what happens. Nil means none.
	Metrics Metrics
}

// Validate reports the first thing that is wrong with the config.
func (c Config) Validate() error {
	if c.Leases == nil && c.Nodes == nil {
		return fmt.Errorf("%w: Config.Leases and Nodes are both nil", ErrInvalidConfig)
	}
	for _, field := range []struct {
		name  string
		value time.Duration
	}{
		{"LeaseDuration", c.LeaseDuration},
		{"RenewInterval", c.RenewInterval},
		{"StatusInterval", c.StatusInterval},
		{"ReportInterval", c.ReportInterval},
		{"Timeout", c.Timeout},
	} {
		if field.value < 0 {
			return fmt.Errorf("%w: Config.%s is %v, want zero or more", ErrInvalidConfig, field.name, field.value)
		}
	}
	if filled := c.withDefaults(); filled.RenewInterval >= filled.LeaseDuration {
		return fmt.Errorf("%w: Config.RenewInterval %v is not below LeaseDuration %v",
			ErrInvalidConfig, filled.RenewInterval, filled.LeaseDuration)
	}
	if c.LeaseDuration > math.MaxInt32*time.Second {
		return fmt.Errorf("%w: Config.LeaseDuration %v does not fit a lease", ErrInvalidConfig, c.LeaseDuration)
	}
	if !(c.Jitter >= 0 && c.Jitter <= 1) { // so written, NaN fails too
		return fmt.Errorf("%w: Config.Jitter is %v, want 0 to 1", ErrInvalidConfig, c.Jitter)
	}
	if c.Workers < 0 {
		return fmt.Errorf("%w: Config.Workers is %d, want zero or more", ErrInvalidConfig, c.Workers)
	}
	return nil
}

// withDefaults leaves Rand alone: its default is not a core's to name.
func (c Config) withDefaults() Config {
	c.LeaseDuration = cmp.Or(c.LeaseDuration, defaultLeaseDuration)
	c.RenewInterval = cmp.Or(c.RenewInterval, max(c.LeaseDuration/renewIntervalFraction, 1))
	c.StatusInterval = cmp.Or(c.StatusInterval, defaultStatusInterval)
	c.ReportInterval = cmp.Or(c.ReportInterval, defaultReportInterval)
	c.Jitter = cmp.Or(c.Jitter, defaultJitter)
	c.Timeout = cmp.Or(c.Timeout, c.RenewInterval)
	c.Workers = cmp.Or(c.Workers, defaultWorkers)
	if c.Metrics == nil {
		c.Metrics = noMetrics{}
	}
	return c
}
