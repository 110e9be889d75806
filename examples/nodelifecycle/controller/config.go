package controller

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// ErrInvalidConfig is wrapped by the errors of New.
var ErrInvalidConfig = errors.New("invalid node lifecycle config")

// Config is what a [Controller] needs. The zero value has the defaults of
// kube-controller-manager v1.37.
type Config struct {
	// Health says how long a node may be silent.
	Health nodehealth.Config
	// Zone says how disrupted a zone is and how fast nodes in it are tainted. Its
	// Grace is set to that of Health if it is zero.
	Zone zone.Config
	// ZoneOf names a node's zone. Nil means zone.ByTopology.
	ZoneOf func(*corev1.Node) string
	// Eviction says which pods leave.
	Eviction eviction.Config
	// EvictionMode is how pods are made to leave. Empty means ByTaint.
	EvictionMode EvictionMode
	// PodEvictionTimeout is how long a node has not been ready before its pods leave, in
	// mode ByNode. Zero means 5 minutes.
	PodEvictionTimeout time.Duration
	// Retry is the wait after a write to a node or pod that failed.
	Retry timedqueue.Backoff
}

// Validate reports the first thing that is wrong with the config.
func (c Config) Validate() error {
	for _, part := range []interface{ Validate() error }{c.Health, c.Zone, c.Eviction, c.Retry} {
		if err := part.Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidConfig, err)
		}
	}
	switch c.EvictionMode {
	case "", ByTaint, ByNode:
	default:
		return fmt.Errorf("%w: EvictionMode is %q, want %q or %q", ErrInvalidConfig, c.EvictionMode, ByTaint, ByNode)
	}
	if c.PodEvictionTimeout < 0 {
		return fmt.Errorf("%w: PodEvictionTimeout is %v, want zero or more", ErrInvalidConfig, c.PodEvictionTimeout)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Zone.Grace == 0 {
		c.Zone.Grace = c.Health.Grace
	}
	if c.EvictionMode == "" {
		c.EvictionMode = ByTaint
	}
	if c.PodEvictionTimeout == 0 {
		c.PodEvictionTimeout = defaultPodEvictionTimeout
	}
	if c.ZoneOf == nil {
		c.ZoneOf = zone.ByTopology
	}
	return c
}

// ownWriteCounts is how long an object that we have written counts more than an
// older one from the cache. It bounds the harm if a watch event is lost or the
// API server's store is set back.
const ownWriteCounts = time.Minute
