package nodehealth

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// Config is what a [Monitor] or a [NodeMonitor] needs. The zero value is
// complete.
type Config struct {
	// GracePeriod is how long a key that has reported may be silent. Zero means
	// 50 s, the default of --node-monitor-grace-period.
	GracePeriod time.Duration
	// StartupGracePeriod is how long a key that has never reported may take to do
	// so. Zero means 60 s, the default of --node-startup-grace-period.
	StartupGracePeriod time.Duration
	// RecoveryPeriod is how long a silent key must be heard again, without
	// another silence, before it counts as alive. Zero means that the first
	// heartbeat is enough.
	RecoveryPeriod time.Duration
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
	return c
}
