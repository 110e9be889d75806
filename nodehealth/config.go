package nodehealth

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// A Detector decides how long one key may be silent, from the times at which it
// was heard. It need not be safe for concurrent use.
type Detector interface {
	// Heartbeat takes a heartbeat that was observed at now.
	Heartbeat(now time.Time)
	// GracePeriod returns how long the key may be silent after its last heartbeat.
	// It must depend on the heartbeats alone. Zero or less means that the detector
	// does not know yet, and Config.GracePeriod counts.
	GracePeriod() time.Duration
}

// Heard is when each source of a node was last heard, or when the node was
// first seen if the source was not heard since.
type Heard struct {
	Lease, Status time.Time
	// Probe is the source of [NodeMonitor.Heartbeat], the caller's own probe.
	Probe time.Time
}

// Latest returns when any of the sources was heard last.
func (h Heard) Latest() time.Time {
	latest := h.Lease
	for _, at := range []time.Time{h.Status, h.Probe} {
		if at.After(latest) {
			latest = at
		}
	}
	return latest
}

// set takes the times that are not zero.
func (h *Heard) set(from Heard) {
	h.Lease = cmp.Or(from.Lease, h.Lease)
	h.Status = cmp.Or(from.Status, h.Status)
	h.Probe = cmp.Or(from.Probe, h.Probe)
}

// Config holds the settings of a [Monitor] or a [NodeMonitor]. The zero value
// is valid.
type Config struct {
	// GracePeriod is how long a key that has reported may be silent. Zero means
	// 50 s, the default of --node-monitor-grace-period.
	GracePeriod time.Duration
	// StartupGracePeriod is how long a key that has never reported may take to do
	// so. Zero means 60 s, the default of --node-startup-grace-period.
	StartupGracePeriod time.Duration
	// StartupFromCreation says that the StartupGracePeriod of a node which has
	// never reported and has no lease counts from its creationTimestamp, as in
	// kube-controller-manager. It never counts from later than the first
	// observation of the node, from which it counts otherwise, so that a restart of
	// the observer begins it again.
	//
	// The creationTimestamp is compared with now once, at the first observation. It
	// has whole seconds, so the period ends up to a second late. It ends early by
	// as much as the observer's clock is ahead of the API server's, and late by as
	// much as it is behind. Do not call Start before MarkSynced: the lease of a node
	// may not be observed yet.
	//
	// Only a [NodeMonitor] has nodes; a [Monitor] refuses it.
	StartupFromCreation bool
	// RecoveryPeriod is how long a silent key must be heard again, without
	// another silence, before it counts as alive. With zero the first heartbeat is
	// enough.
	RecoveryPeriod time.Duration
	// SightTimeout is how long after a proof that heartbeats can be heard silence
	// still counts; see [Monitor.Answered]. Later silence, up to the next proof,
	// does not count: no key could be heard. A monitor has no proof when it begins.
	// Zero means that all silence counts and that no proof is needed.
	SightTimeout time.Duration
	// UnbrokenPeriod is how long after blindness no key is found silent, because
	// senders need time to be heard again. It is two heartbeat intervals. Zero means
	// 20 s, those of a kubelet.
	UnbrokenPeriod time.Duration
	// Detector returns the detector of a new key. Nil means that each key has the
	// fixed GracePeriod. StartupGracePeriod counts in either case.
	Detector func() Detector
	// GracePeriodOf returns the GracePeriod of a node, for example from an annotation
	// or a pool. Zero or less means Config.GracePeriod, or what the Detector says. It
	// is asked at each observation of the node. Another answer than before acts at
	// once: a longer one takes back a silence that is not recorded yet. A node that
	// is Unknown stays so until it is heard. With less than one and a half heartbeat
	// intervals living nodes are found silent. It must be fast and depend on the
	// node alone. Only a [NodeMonitor] has nodes; see Observation.GracePeriod for a
	// [Monitor].
	GracePeriodOf func(*corev1.Node) time.Duration
	// Combine returns when a node counts as heard, from the times of its sources.
	// It must be a pure function. Nil means [Heard.Latest]. Only a [NodeMonitor]
	// has several sources; a [Monitor] refuses it. After blindness a node is heard
	// when the combined time advances.
	Combine func(Heard) time.Time
	// Retry is the wait after a task that failed, and after a silence that was
	// recorded and whose record was set back without a heartbeat.
	Retry timedqueue.Backoff
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	var problems []error
	for _, field := range []struct {
		name  string
		value time.Duration
	}{
		{"GracePeriod", c.GracePeriod},
		{"StartupGracePeriod", c.StartupGracePeriod},
		{"RecoveryPeriod", c.RecoveryPeriod},
		{"SightTimeout", c.SightTimeout},
		{"UnbrokenPeriod", c.UnbrokenPeriod},
	} {
		if field.value < 0 {
			problems = append(problems, fmt.Errorf("%w: Config.%s is %v, want zero or more",
				ErrInvalidConfig, field.name, field.value))
		}
	}
	if err := c.Retry.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("%w: Config.Retry: %w", ErrInvalidConfig, err))
	}
	return errors.Join(problems...)
}

func (c Config) withDefaults() Config {
	c.GracePeriod = cmp.Or(c.GracePeriod, 50*time.Second)
	c.StartupGracePeriod = cmp.Or(c.StartupGracePeriod, 60*time.Second)
	c.UnbrokenPeriod = cmp.Or(c.UnbrokenPeriod, 20*time.Second)
	return c
}
