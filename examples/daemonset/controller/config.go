package controller

import (
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/time/rate"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/timedqueue"
)

// ErrInvalidConfig is wrapped by each error of [Config.Validate] and
// [NewController].
var ErrInvalidConfig = errors.New("invalid daemon set controller config")

// Config is what a [Controller] needs. The zero value manages DaemonSets with
// the defaults of kube-controller-manager v1.37.
type Config struct {
	// Kind is that of the sets. Zero means apps, DaemonSet.
	Kind schema.GroupKind
	// Planner is the config of each set's planner. Its Spec, Owner and Nodes are
	// not used. Its Burst is how many requests about pods of one set can be under
	// way; zero means 250.
	Planner rollout.Config
	// Concurrency is how many sets can have a full burst of requests under way.
	// More sets take turns. Zero means 2, the default of
	// --concurrent-daemonset-syncs. MostConcurrency is the most.
	Concurrency int
	// StatusInterval is the shortest time between two statuses of one set in the
	// middle of a change. While counts go on changing, it doubles up to half a
	// minute. Of those that last, a few are written at once, and then one in each
	// interval. Zero means one second.
	StatusInterval time.Duration
	// Backoff is the wait after a claim, a revision or a status that has failed.
	// Planners have their own for pods.
	Backoff timedqueue.Backoff
	// Requests is the budget of requests to the API server.
	Requests RequestBudget
}

// RequestBudget limits the requests that all tasks together send to the API
// server: reads and writes, and those that fail.
type RequestBudget struct {
	// PerSecond is how many requests are sent a second, in the long run. Zero
	// means no limit.
	PerSecond rate.Limit
	// Burst is how many can be sent at once. Zero means 1.
	Burst int
}

// MostConcurrency is the highest [Config].Concurrency. With the default burst
// it lets 25,000 requests be under way, each of which holds a worker. A
// kube-apiserver v1.37 serves 600 at a time by default, the sum of
// --max-requests-inflight and --max-mutating-requests-inflight. More would only
// cost memory.
const MostConcurrency = 100

const (
	defaultConcurrency    = 2   // of kube-controller-manager v1.37
	defaultBurst          = 250 // of a rollout.Planner
	defaultStatusInterval = time.Second

	// claimRequests and reviseRequests are the most requests of one task. What
	// needs more goes in several.
	claimRequests  = 10
	reviseRequests = 10
	// podRequests is the most that rollout.Executor sends: a creation whose name is
	// taken reads the pod.
	podRequests = 2
)

// Validate joins all that is wrong with the budget.
func (b RequestBudget) Validate() error {
	var problems []error
	if b.PerSecond < 0 || math.IsNaN(float64(b.PerSecond)) {
		problems = append(problems,
			fmt.Errorf("%w: Requests.PerSecond is %v, want zero or more", ErrInvalidConfig, b.PerSecond))
	}
	if b.Burst < 0 {
		problems = append(problems,
			fmt.Errorf("%w: Requests.Burst is %d, want zero or more", ErrInvalidConfig, b.Burst))
	}
	return errors.Join(problems...)
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	problems := []error{c.Requests.Validate()}
	if err := c.Backoff.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("%w: %w", ErrInvalidConfig, err))
	}
	if (c.Kind.Group == "") != (c.Kind.Kind == "") {
		problems = append(problems,
			fmt.Errorf("%w: Kind is %q, want a group and a kind, or neither", ErrInvalidConfig, c.Kind))
	}
	if c.Concurrency < 0 || c.Concurrency > MostConcurrency {
		problems = append(problems, fmt.Errorf("%w: Concurrency is %d, want zero to %d",
			ErrInvalidConfig, c.Concurrency, MostConcurrency))
	}
	if c.Planner.Burst < 0 {
		problems = append(problems,
			fmt.Errorf("%w: Planner.Burst is %d, want zero or more", ErrInvalidConfig, c.Planner.Burst))
	}
	if c.Planner.ExpectationTimeout < 0 {
		problems = append(problems, fmt.Errorf("%w: Planner.ExpectationTimeout is %v, want zero or more",
			ErrInvalidConfig, c.Planner.ExpectationTimeout))
	}
	if c.StatusInterval < 0 {
		problems = append(problems,
			fmt.Errorf("%w: StatusInterval is %v, want zero or more", ErrInvalidConfig, c.StatusInterval))
	}
	return errors.Join(problems...)
}

func (c Config) withDefaults() Config {
	if c.Kind.Empty() {
		c.Kind = appsv1.SchemeGroupVersion.WithKind("DaemonSet").GroupKind()
	}
	if c.Planner.Burst == 0 {
		c.Planner.Burst = defaultBurst
	}
	if c.Concurrency == 0 {
		c.Concurrency = defaultConcurrency
	}
	if c.StatusInterval == 0 {
		c.StatusInterval = defaultStatusInterval
	}
	if c.Requests.PerSecond == 0 {
		c.Requests.PerSecond = rate.Inf
	}
	return c
}

// MostUnderWay returns how many tasks can be under way at a time. A dispatcher
// needs that many workers.
func (c Config) MostUnderWay() int {
	c = c.withDefaults()
	return c.Concurrency * c.Planner.Burst
}
