package scheduling

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/scheduler/fit"
	"github.com/kubelife/lifecycle/nodehealth/observer"
	"github.com/kubelife/lifecycle/timedqueue"
)

// evictionCost is the most requests that one eviction sends.
const evictionCost = 3

// New returns a scheduler that knows no node and no pod. Now must not be the
// zero time.
func New(config Config, now time.Time) (*Scheduler, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	s := &Scheduler{
		config: config, began: now,
		nodes: map[string]*node{}, pods: map[types.UID]*pod{}, wanting: map[types.UID]*pod{},
		excluding: map[types.UID]*pod{}, exclusions: 1,
		sets: map[string]fit.DaemonSet{}, budgets: map[string]*budget{},
	}
	victims := config.Evictions
	victims.Concerns = func(*corev1.Taint) bool { return false } // taints are others' business
	victims.Holds = []eviction.Hold{{Name: holdHalt}}
	victims.LowPriorityFirst = true
	var errs [4]error
	s.health, errs[0] = observer.NewTracker(observer.TrackerConfig{Health: config.Health, Zones: config.Zone}, now)
	s.evictions, errs[1] = eviction.NewTracker(victims, now)
	byImportance := timedqueue.QueueConfig[types.UID, *pod]{Less: (*pod).before}
	s.active, errs[2] = timedqueue.NewQueue(byImportance, now)
	s.timers, errs[3] = timedqueue.NewQueue(byImportance, now)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	s.seen = s.health.View()
	return s, nil
}

// Jobs returns what the scheduler hands out, under the limit of requests. It
// must be called once. Now must not be the zero time.
func (s *Scheduler) Jobs(
	actions Actions, now time.Time,
) (timedqueue.Source[timedqueue.Job], error) {
	requests, err := timedqueue.NewThrottle(timedqueue.ThrottleConfig{
		Limit: s.config.RequestLimit, Burst: max(s.config.RequestBurst, evictionCost),
		Kinds: []timedqueue.Kind{
			{Name: "evictions", Source: timedqueue.Jobs(preemptor{s}, actions.Evict),
				Cost: evictionCost, Reserved: 0.25},
			{Name: "pods", Source: timedqueue.Jobs(placer{s}, actions.Perform), Reserved: 0.5},
		},
	}, now)
	if err != nil {
		return nil, err
	}
	return turns{s, requests}, nil
}
