package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Actions do what a [Controller] hands out. All are required. Each but Evict and
// Record sends one request.
//
// An object that the API server has returned the controller must have observed
// before the action returns, unless it has observed a newer one.
type Actions struct {
	ReadLeases func(context.Context, LeaseRead) Leases
	Declare    func(context.Context, Declaration) Result[*corev1.Node]
	ChangeNode func(context.Context, NodeChange) Result[*corev1.Node]
	MarkPod    func(context.Context, PodMark) Result[*corev1.Pod]
	Evict      eviction.Action
	Record     func(context.Context, Record) struct{}
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
		Kinds: c.kinds(actions),
	}, now)
	if err != nil {
		return nil, err
	}
	return turns{c, timedqueue.InOrder(
		timedqueue.Jobs(recorder{c}, actions.Record),
		timedqueue.Jobs(teller{recorder{c}}, actions.Record),
		requests,
	)}, nil
}

// kinds are the kinds of work that divide the budget of requests. What says
// that a node is not ready comes before what follows from it.
func (c *Controller) kinds(actions Actions) []timedqueue.Kind {
	return []timedqueue.Kind{{
		Name: "declarations", Reserved: declarationsPart,
		Source: timedqueue.InOrder(
			timedqueue.Jobs(reader{c}, actions.ReadLeases),
			timedqueue.Jobs(declarer{c}, actions.Declare),
		),
	}, {
		Name: "recoveries", Reserved: 0.25,
		Source: timedqueue.Jobs(recoverer{writer{c}}, actions.ChangeNode),
	}, {
		Name: "evictions", Reserved: 0.25, Cost: c.config.Requests.Eviction,
		Source: timedqueue.Jobs(evictor{c}, actions.Evict),
	}, {
		Name: "other writes", Reserved: 0.25,
		// The one of the two that handles many pods must not starve the other.
		Source: timedqueue.RoundRobin(
			timedqueue.Jobs(otherWriter{writer{c}}, actions.ChangeNode),
			timedqueue.Jobs(marker{c}, actions.MarkPod),
		),
	}}
}

// turns are the jobs of a controller. Before each it applies what time and
// answers have changed.
type turns struct {
	*Controller

	sources timedqueue.Source[timedqueue.Job]
}

func (c turns) Start(now time.Time) (timedqueue.Job, bool) {
	if !c.synced || c.prepare(now) {
		return timedqueue.Job{}, false
	}
	return c.sources.Start(now)
}

func (c turns) Next(now time.Time) (time.Time, bool) {
	if !c.synced {
		return time.Time{}, false
	}
	next, ok := c.sources.Next(now)
	for _, wait := range []func(time.Time) (time.Time, bool){c.nextPreparation, c.health.Next} {
		if at, waits := wait(now); waits && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	return next, ok
}

// noteAnswer is called with the result of each write before that is taken. If
// the API server has stored something then heartbeats would be heard, too.
func (c *Controller) noteAnswer(now, sent time.Time, stored bool) {
	if stored {
		c.Answered(now, sent)
	}
	c.evaluateLasting(now)
}
