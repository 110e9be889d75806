package scheduling

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// ErrInvalidConfig is wrapped by the errors of New.
var ErrInvalidConfig = errors.New("invalid scheduling config")

// Config is what a Scheduler needs.
type Config struct {
	// SchedulerName is the spec.schedulerName of the pods to schedule. Required.
	SchedulerName string
	// Matcher says which toleration tolerates which taint.
	Matcher taints.Matcher
	// Health says when a node is silent. Its GracePeriod should be shorter than
	// --node-monitor-grace-period of kube-controller-manager. Zero means 25 s: two
	// heartbeats of a kubelet are missing.
	Health nodehealth.Config
	// FreshFor is how long after a heartbeat a node is preferred to others. Zero
	// means 12 s, a little more than the interval of a kubelet's heartbeats.
	FreshFor time.Duration
	// Zone says when a zone is disrupted.
	Zone zone.Config
	// Evictions has the budgets and the backoff of victims. Concerns, Exempt and
	// Holds are the scheduler's and must be nil.
	Evictions eviction.Config
	// Backoff is the wait after an attempt without a node. Zero means 1 s to 10 s,
	// as in kube-scheduler.
	Backoff timedqueue.Backoff
	// AssumeTimeout is how long to wait for the watch to show a binding before the
	// pod is read. Zero means 30 s.
	AssumeTimeout time.Duration
	// RequestLimit and RequestBurst limit the requests of all tasks together. Zero
	// is no limit.
	RequestLimit rate.Limit
	RequestBurst int
	// Templates are nodes that an autoscaler would make. A pod that fits nowhere
	// is told on which of them it would fit.
	Templates []*corev1.Node
}

// withDefaults returns the config with its defaults.
func (c Config) withDefaults() Config {
	c.Health.GracePeriod = cmp.Or(c.Health.GracePeriod, 25*time.Second)
	c.FreshFor = cmp.Or(c.FreshFor, 12*time.Second)
	c.Backoff.Initial = cmp.Or(c.Backoff.Initial, time.Second)
	c.Backoff.Max = cmp.Or(c.Backoff.Max, max(10*time.Second, c.Backoff.Initial))
	c.AssumeTimeout = cmp.Or(c.AssumeTimeout, 30*time.Second)
	c.RequestLimit = cmp.Or(c.RequestLimit, rate.Inf)
	return c
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	var errs []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrInvalidConfig}, args...)...))
		}
	}
	wrong(c.SchedulerName == "", "SchedulerName is empty, want a name")
	wrong(c.FreshFor < 0, "FreshFor is %v, want zero or more", c.FreshFor)
	wrong(c.AssumeTimeout < 0, "AssumeTimeout is %v, want zero or more", c.AssumeTimeout)
	wrong(!(c.RequestLimit >= 0), "RequestLimit is %v, want zero or more", c.RequestLimit)
	wrong(c.RequestBurst < 0, "RequestBurst is %d, want zero or more", c.RequestBurst)
	own := c.Evictions.Concerns != nil || c.Evictions.Exempt != nil || c.Evictions.Holds != nil
	wrong(own, "Evictions has Concerns, Exempt or Holds, want none: they are the scheduler's")
	for i, template := range c.Templates {
		wrong(template == nil || template.Name == "", "Templates[%d] has no name, want one", i)
	}
	return errors.Join(append(errs, c.Health.Validate(), c.Zone.Validate(), c.Evictions.Validate(),
		c.Backoff.Validate())...)
}
