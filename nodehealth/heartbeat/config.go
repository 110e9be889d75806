package heartbeat

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"
)

// Defaults of the kubelet v1.37. Each comment names its source, as a file of
// k8s.io/kubernetes or, for the jitter of both loops, of
// k8s.io/component-helpers too.
const (
	// NodeLeaseDurationSeconds, pkg/kubelet/apis/config/v1beta1/defaults.go
	defaultLeaseDuration = 40 * time.Second
	// nodeLeaseRenewIntervalFraction is 0.25, pkg/kubelet/kubelet.go
	renewIntervalFraction = 4
	// NodeStatusUpdateFrequency, pkg/kubelet/apis/config/v1beta1/defaults.go
	defaultStatusInterval = 10 * time.Second
	// NodeStatusReportFrequency, the same file
	defaultReportInterval = 5 * time.Minute
	// apimachinery/lease/controller.go and pkg/kubelet/kubelet.go
	defaultJitter = 0.04
)

// 10,000 nodes renew 1,000 leases a second, which keeps 20 workers busy when a
// call takes 20 ms.
const defaultWorkers = 32

// Config holds the settings of a [Sender]. The zero value of each time is the
// kubelet's default.
//
// The clients must not throttle: client-go's default of 5 calls a second is
// enough for 50 nodes only. Set QPS to -1, as the kubelet does for its
// heartbeats.
type Config struct {
	// Leases writes the leases, in namespace kube-node-lease. Nil means that no
	// node has a lease. In client-go it is
	// CoordinationV1().Leases(corev1.NamespaceNodeLease).
	//
	// Give it a connection of its own, apart from that of Nodes and of the rest
	// of the program. A stuck TCP connection elsewhere then does not stop the
	// leases (kubernetes #48638, #63492, #108107).
	Leases LeaseClient

	// Nodes writes the nodes' status. Nil means that no node reports one. In
	// client-go it is CoreV1().Nodes().
	Nodes NodeClient

	// Cache returns the nodes as the API server has them, for example from an
	// informer. With it, a status that another client has overwritten is reported
	// again within StatusInterval. For example, the node lifecycle controller sets
	// Ready to Unknown when heartbeats are late. Without a cache that lasts until
	// a report is due for another reason. A cache costs no calls, and saves one
	// for each node. Nil means none. In client-go it is the NodeLister.
	Cache NodeCache

	// LeaseDuration is how long a lease counts without renewal. It is written
	// into the lease in whole seconds, rounded up. Zero means 40 s.
	LeaseDuration time.Duration
	// RenewInterval is the time from one renewal to the next. Zero means a
	// quarter of LeaseDuration.
	RenewInterval time.Duration
	// StatusInterval is the time from one check of a node's status to the next. A
	// check makes a call only when a report is due. Zero means 10 s.
	StatusInterval time.Duration
	// ReportInterval is the time from one report to the next when the status does
	// not change. After a report for another reason it is multiplied by a random
	// 0.5 to 1.5. So nodes that started together do not report together
	// (kubernetes #124202). Zero means 5 min.
	ReportInterval time.Duration
	// Jitter is the largest fraction by which RenewInterval and StatusInterval are
	// lengthened, at random each time. Zero means 0.04.
	Jitter float64
	// Timeout bounds one beat: Status and all calls together. Zero means
	// RenewInterval. The kubelet's heartbeat client gives each call 10 s
	// (cmd/kubelet/app/server.go).
	Timeout time.Duration
	// Workers is how many beats run at a time, of each of the two kinds, so that
	// renewals never wait for status reports. Zero means 32.
	Workers int

	// Rand returns numbers in [0, 1). It is called with a lock held, one call at
	// a time. Nil means math/rand/v2's Float64.
	Rand func() float64
	// Metrics counts beats. Nil means none.
	Metrics Metrics
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	var problems []error
	complain := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		problems = append(problems, fmt.Errorf("%w: Config.%s", ErrInvalidConfig, text))
	}
	if c.Leases == nil && c.Nodes == nil {
		complain("Leases and Config.Nodes are both nil, want at least one")
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
			complain("%s is %v, want zero or more", field.name, field.value)
		}
	}
	if filled := c.withDefaults(); filled.RenewInterval >= filled.LeaseDuration {
		complain("RenewInterval is %v, want less than Config.LeaseDuration, %v",
			filled.RenewInterval, filled.LeaseDuration)
	}
	if c.LeaseDuration > math.MaxInt32*time.Second {
		complain("LeaseDuration is %v, want at most the %d s that fit a lease",
			c.LeaseDuration, math.MaxInt32)
	}
	if !(c.Jitter >= 0 && c.Jitter <= 1) { // also NaN
		complain("Jitter is %v, want 0 to 1", c.Jitter)
	}
	if c.Workers < 0 {
		complain("Workers is %d, want zero or more", c.Workers)
	}
	return errors.Join(problems...)
}

// withDefaults does not set Rand, because a core must not name its default.
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
