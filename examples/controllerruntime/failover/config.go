package failover

import (
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// ErrInvalidConfig is wrapped by the errors of NewCore.
var ErrInvalidConfig = errors.New("invalid failover config")

// Config holds the settings of a Core. The zero value is valid.
type Config struct {
	// GracePeriod is how long a cluster may be silent. Zero means 40 s.
	GracePeriod time.Duration
	// HeartbeatInterval is how often a cluster sends a heartbeat: at most half of
	// GracePeriod. Zero means a quarter of it.
	HeartbeatInterval time.Duration
	// TaintRate is how many clusters of a region get a taint in a second. Zero
	// means 0.1. A region that is partially disrupted has a tenth of it if it is
	// large, and else none; see package zone.
	TaintRate float64
	// MoveRate is how many bindings move in a second, from one of their clusters
	// each. Zero means 10.
	MoveRate float64
	// ClusterMoveRate is how many of them leave the same cluster. Zero means 1.
	ClusterMoveRate float64
	// Jitter lengthens waits; see timedqueue.Backoff. Nil means none.
	Jitter func() float64
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	check(c.GracePeriod >= 0, "GracePeriod is %v, want at least 0", c.GracePeriod)
	check(c.HeartbeatInterval >= 0, "HeartbeatInterval is %v, want at least 0", c.HeartbeatInterval)
	if d := c.withDefaults(); c.GracePeriod >= 0 && c.HeartbeatInterval >= 0 {
		check(d.HeartbeatInterval <= d.GracePeriod/2, "HeartbeatInterval is %v, want at most half of GracePeriod, %v",
			d.HeartbeatInterval, d.GracePeriod)
	}
	for _, field := range []struct {
		name  string
		value float64
	}{{"TaintRate", c.TaintRate}, {"MoveRate", c.MoveRate}, {"ClusterMoveRate", c.ClusterMoveRate}} {
		check(field.value >= 0 && !math.IsInf(field.value, 0), "%s is %v, want a finite number of at least 0",
			field.name, field.value)
	}
	return errors.Join(problems...)
}

func (c Config) withDefaults() Config {
	c.GracePeriod = orDefault(c.GracePeriod, 40*time.Second)
	c.HeartbeatInterval = orDefault(c.HeartbeatInterval, c.GracePeriod/4)
	c.TaintRate = orDefault(c.TaintRate, 0.1)
	c.MoveRate = orDefault(c.MoveRate, 10)
	c.ClusterMoveRate = orDefault(c.ClusterMoveRate, 1)
	return c
}

func orDefault[T comparable](value, preset T) T {
	var zero T
	if value == zero {
		return preset
	}
	return value
}

func (c Config) backoff() timedqueue.Backoff { return timedqueue.Backoff{Jitter: c.Jitter} }

// health counts silence only while something is heard; see Core.Answered. The
// heartbeats of one cluster are enough for that, with their jitter.
func (c Config) health() nodehealth.Config {
	return nodehealth.Config{
		GracePeriod: c.GracePeriod, StartupGracePeriod: c.GracePeriod,
		SightTimeout: c.HeartbeatInterval + c.HeartbeatInterval/5, UnbrokenPeriod: 2 * c.HeartbeatInterval,
		Retry: c.backoff(),
	}
}

func (c Config) regions() zone.Config {
	rates := zone.DefaultRates()
	rates.Normal, rates.Secondary = c.TaintRate, c.TaintRate/10
	window := c.HeartbeatInterval + c.HeartbeatInterval/10
	return zone.Config{Rate: rates.Rate, StabilizationWindow: c.GracePeriod, ObservationWindow: &window}
}

func (c Config) marks() timedqueue.QueueConfig[string, mark] {
	return timedqueue.QueueConfig[string, mark]{
		// Held: a region has no limit before it is evaluated.
		Budgets: []timedqueue.Budget[string, mark]{{Name: byRegion, ShareOf: shareOf, Held: true}},
		Backoff: c.backoff(),
	}
}

func (c Config) moves() eviction.Config {
	return eviction.Config{
		Budgets: []eviction.Budget{
			{Name: "all", Limit: rate.Limit(c.MoveRate), Burst: int(math.Ceil(c.MoveRate))},
			{Name: "cluster", Limit: rate.Limit(c.ClusterMoveRate), ByNode: (*corev1.Node).GetName},
			{Name: byBinding, Limit: rate.Inf, BySubject: true, MaxPods: 1},
		},
		Holds:   holds(),
		Lineage: lineage,
		Backoff: c.backoff(),
	}
}
