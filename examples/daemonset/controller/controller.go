package controller

import (
	"errors"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/timedqueue"
)

var _ timedqueue.Core[Task, Result] = (*Controller)(nil)

// NewController returns a Controller that knows nothing yet. Now must not be
// the zero time.
func NewController(config Config, now time.Time) (*Controller, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	c, err := newReducer(config, now)
	if err != nil {
		return nil, errors.Join(ErrInvalidConfig, err)
	}
	c.requests, err = timedqueue.NewThrottle(timedqueue.ThrottleConfig[Task]{
		Limit: config.Requests.PerSecond,
		Burst: config.Requests.Burst,
		Kinds: []timedqueue.Kind[Task]{
			{Name: "claims", Reserved: 0.2, Cost: claimRequests, Source: timedqueue.SourceOf(c.claim, c.claims.Next)},
			{Name: "revisions", Reserved: 0.2, Cost: reviseRequests, Source: timedqueue.SourceOf(c.revise, c.revises.Next)},
			{Name: "statuses", Reserved: 0.2, Source: timedqueue.SourceOf(c.writeStatus, c.statuses.Next)},
			{Name: "pods", Reserved: 0.4, Cost: podRequests, Source: timedqueue.SourceOf(c.changePod, c.ready.Next)},
		},
	}, now)
	if err != nil {
		return nil, errors.Join(ErrInvalidConfig, err)
	}
	c.sources = timedqueue.InOrder(
		timedqueue.SourceOf(c.record, c.nextRecord),
		timedqueue.SourceOf(c.request, c.nextRequest),
	)
	return c, nil
}

// Start hands out a task that may start now.
func (c *Controller) Start(now time.Time) (Task, bool) {
	if !c.synced {
		return Task{}, false
	}
	c.left = c.visitsOfTurn
	c.expireMade(now)
	c.visitDue(now)
	c.left = c.stepsOfTurn
	return c.sources.Start(now)
}

// Next returns when Start can next hand out a task or has nodes to evaluate. It
// returns false when only an observation or a result makes a difference.
func (c *Controller) Next(now time.Time) (time.Time, bool) {
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

func (c *Controller) record(time.Time) (Task, bool) {
	if len(c.events) == 0 {
		return Task{}, false
	}
	event := c.events[0]
	c.events[0] = Event{}
	c.events = c.events[1:]
	return Task{Owner: event.Owner, Action: Record{event}}, true
}

func (c *Controller) nextRecord(now time.Time) (time.Time, bool) { return now, len(c.events) > 0 }

func (c *Controller) request(now time.Time) (Task, bool) {
	if c.underWay >= c.config.MostUnderWay() {
		return Task{}, false
	}
	task, grant, ok := c.requests.Start(now)
	if ok {
		c.underWay++
		task.grant = grant
	}
	return task, ok
}

func (c *Controller) nextRequest(now time.Time) (time.Time, bool) {
	if c.underWay >= c.config.MostUnderWay() {
		return time.Time{}, false
	}
	return c.requests.Next(now)
}

// A State is what a Controller shows of one set.
type State struct {
	Owner ownership.Owner
	// Phase is waiting, claiming, revising, filling, managed, selectingAll,
	// invalid or terminating. Before MarkSynced it is waiting.
	Phase string
	// Problem is what is wrong with the set, for example with its rollout.
	Problem error
	// Stopped says that the rollout, or all of the set, waits for a correction of
	// the spec. An Event has said why.
	Stopped bool
	// Counts are the newest that are complete.
	Counts rollout.StatusCounts
	// UnderWay is how many requests about its pods are under way.
	UnderWay int
}

// Sets returns the state of each set, in the order of the first observations.
func (c *Controller) Sets() iter.Seq[State] {
	return func(yield func(State) bool) {
		for _, r := range c.inOrder {
			state := State{r.set.Source.Owner, r.phase.String(), r.allProblems(), r.told != "", r.counts, r.underWay}
			if !yield(state) {
				return
			}
		}
	}
}

// Waits returns why nothing happens on nodes of a set, see
// [rollout.Planner.Waits].
func (c *Controller) Waits(uid types.UID) iter.Seq[rollout.Wait] {
	if r := c.sets[uid]; r != nil && r.planner != nil {
		return r.planner.Waits()
	}
	return func(func(rollout.Wait) bool) {}
}

// UnderWay returns how many tasks are under way.
func (c *Controller) UnderWay() int { return c.underWay }

// Waiting returns how many sets wait for a task.
func (c *Controller) Waiting() int {
	return c.claims.Len() + c.revises.Len() + c.statuses.Len() + c.ready.Len()
}
