package controller

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Actions do what a [Controller] hands out. All are required.
//
// Pods that were adopted, released or relabelled, and revisions, must have been
// observed before the action returns, as the API server has returned them, or
// forgotten if they were deleted.
type Actions struct {
	Claim       func(context.Context, Claim) Result[Claimed]
	Revise      func(context.Context, Revise) Result[revision.Result]
	ChangePod   func(context.Context, ChangePod) Result[rollout.Result]
	WriteStatus func(context.Context, WriteStatus) Result[Set]
	Record      func(context.Context, Event) struct{}
}

// begun is a task that was handed out for a set.
type begun struct {
	of   *record
	item timedqueue.Item[types.UID, *record] // of the queue that the task is from
}

// Jobs returns what the controller hands out: Events first, then all else under
// the budget of requests. It must be called once. Now must not be the zero
// time.
func (c *Controller) Jobs(
	actions Actions, now time.Time,
) (timedqueue.Source[timedqueue.Job], error) {
	requests, err := timedqueue.NewThrottle(timedqueue.ThrottleConfig{
		Limit: c.config.Requests.PerSecond,
		Burst: c.config.Requests.Burst,
		Kinds: []timedqueue.Kind{{
			Name: "claims", Reserved: 0.2, Cost: claimRequests,
			Source: timedqueue.Jobs(claimer{c}, actions.Claim),
		}, {
			Name: "revisions", Reserved: 0.2, Cost: reviseRequests,
			Source: timedqueue.Jobs(reviser{c}, actions.Revise),
		}, {
			Name: "statuses", Reserved: 0.2,
			Source: timedqueue.Jobs(statusWriter{c}, actions.WriteStatus),
		}, {
			Name: "pods", Reserved: 0.4, Cost: podRequests,
			Source: timedqueue.Jobs(podChanger{c}, actions.ChangePod),
		}},
	}, now)
	if err != nil {
		return nil, errors.Join(ErrInvalidConfig, err)
	}
	return turns{c, timedqueue.InOrder(
		timedqueue.Jobs(recorder{c}, actions.Record),
		bounded{c, requests},
	)}, nil
}

// turns are the jobs of a controller. Before each it follows what time and
// observations have changed.
type turns struct {
	*Controller

	sources timedqueue.Source[timedqueue.Job]
}

func (c turns) Start(now time.Time) (timedqueue.Job, bool) {
	if !c.synced {
		return timedqueue.Job{}, false
	}
	c.left = c.visitsOfTurn
	c.expireMade(now)
	c.visitDue(now)
	c.left = c.stepsOfTurn
	return c.sources.Start(now)
}

// Next returns when Start can next hand out a job or has nodes to evaluate. It
// returns false when only an observation or a result makes a difference.
func (c turns) Next(now time.Time) (time.Time, bool) {
	if !c.synced {
		return time.Time{}, false
	}
	next, ok := c.sources.Next(now)
	for _, q := range []*queue{c.visits, c.made} {
		if due, waits := q.Next(now); waits && (!ok || due.Before(next)) {
			next, ok = due, true
		}
	}
	return next, ok
}

// bounded are the jobs that send requests, of which only so many are under way.
type bounded struct {
	*Controller

	requests timedqueue.Source[timedqueue.Job]
}

func (c bounded) Start(now time.Time) (timedqueue.Job, bool) {
	if c.underWay >= c.config.MostUnderWay() {
		return timedqueue.Job{}, false
	}
	job, ok := c.requests.Start(now)
	if ok {
		c.underWay++
	}
	return job, ok
}

func (c bounded) Next(now time.Time) (time.Time, bool) {
	if c.underWay >= c.config.MostUnderWay() {
		return time.Time{}, false
	}
	return c.requests.Next(now)
}

// ended counts the end of a task that sends requests, and reports whether its
// set is still there.
func (c *Controller) ended(task begun) bool {
	c.underWay--
	return c.sets[task.of.uid] == task.of
}
