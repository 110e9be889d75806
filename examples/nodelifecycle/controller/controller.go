package controller

import (
	"iter"
	"time"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

var _ timedqueue.Core[Task, Result] = (*Controller)(nil)

// New returns a controller that knows nothing yet.
func New(config Config, now time.Time) (*Controller, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	c, err := newReducer(config, now)
	if err != nil {
		return nil, err
	}
	c.doubtBase = c.newDoubtBase()
	c.requests, err = timedqueue.NewThrottle(timedqueue.ThrottleConfig[Action]{
		Limit: config.Requests.PerSecond,
		Burst: config.Requests.Burst,
		Kinds: c.kinds(config.Requests),
	}, now)
	if err != nil {
		return nil, err
	}
	c.sources = timedqueue.InOrder(
		timedqueue.SourceOf(c.reevaluatePods, c.podsToReevaluate),
		timedqueue.SourceOf(c.nextEvent, c.eventsWait),
		timedqueue.SourceOf(c.request, c.requests.Next),
	)
	return c, nil
}

// kinds are the kinds of work that divide the budget of requests. What says
// that a node is not ready comes before what follows from it.
func (c *Controller) kinds(requests RequestBudget) []timedqueue.Kind[Action] {
	return []timedqueue.Kind[Action]{{
		Name: "declarations", Reserved: declarationsPart,
		Source: timedqueue.InOrder(
			timedqueue.SourceOf(c.readLeases, c.nextRead),
			timedqueue.SourceOf(c.declareNode, c.declarations.Next),
		),
	}, {
		Name: "recoveries", Reserved: 0.25,
		Source: timedqueue.SourceOf(c.recoverNode, c.recoveries.Next),
	}, {
		Name: "evictions", Reserved: 0.25, Cost: requests.Eviction,
		Source: timedqueue.SourceOf(c.evictPod, c.nextEviction),
	}, {
		Name: "other writes", Reserved: 0.25,
		// The one of the two that handles many pods must not starve the other.
		Source: timedqueue.RoundRobin(
			timedqueue.SourceOf(c.writeNode, c.nextWrite),
			timedqueue.SourceOf(c.markPod, c.marks.Next),
		),
	}}
}

// MarkSynced says that all nodes, leases and pods that existed at the start
// have been observed. Nothing is evaluated and nothing handed out before. No
// node gets a NoExecute taint in the stabilization window that begins now.
func (c *Controller) MarkSynced(now time.Time) {
	c.synced = true
	c.health.MarkSynced()
	c.evictions.MarkSynced()
	c.zones.Stabilize(now)
}

// Lead says that this replica begins to act, maybe after another. As after
// MarkSynced, a stabilization window begins.
func (c *Controller) Lead(now time.Time) {
	c.zones.Stabilize(now)
}

// Sighted says that the API server has just answered, so that heartbeats of
// nodes would be heard; see nodehealth.Monitor.
func (c *Controller) Sighted(now time.Time) {
	if c.health.Sighted(now) {
		c.regainSight(now)
	}
}

// Blind returns how much time was blind; see nodehealth.Monitor.
func (c *Controller) Blind(now time.Time) (time.Duration, bool) { return c.health.Blind(now) }

// Start hands out one action to perform now.
func (c *Controller) Start(now time.Time) (Task, bool) {
	if !c.synced || c.prepare(now) {
		return Task{}, false
	}
	return c.sources.Start(now)
}

// Next returns when Start can next hand something out.
func (c *Controller) Next(now time.Time) (time.Time, bool) {
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

// prepare applies what time and answers have changed, before anything is handed
// out. It reports whether it has left something for the next Start: until that
// is done nothing is handed out, because that may depend on it.
func (c *Controller) prepare(now time.Time) (more bool) {
	if c.collect(now) || c.compare(now) {
		return true
	}
	c.evaluateZones(now)
	c.sweep(now)
	c.noteDoubts(now)
	return false
}

func (c *Controller) nextPreparation(now time.Time) (time.Time, bool) {
	if c.reads.list == listed || c.unswept > 0 {
		return now, true
	}
	next, ok := c.zones.Next(now)
	if at := c.health.Sight(now).CountsFrom; !at.IsZero() && (!ok || at.Before(next)) {
		next, ok = at, true // what is held since the API server did not answer
	}
	if at, tells := c.doubts.next(c.doubtBase.grace); tells && (!ok || at.Before(next)) {
		next, ok = at, true
	}
	return next, ok
}

// reevaluatePods decides a slice of the pods again after a change of the hold.
// It needs no tokens, so it is a source of its own, without a task.
func (c *Controller) reevaluatePods(now time.Time) (Task, bool) {
	c.evictions.Reevaluate(now)
	return Task{}, false
}

func (c *Controller) podsToReevaluate(now time.Time) (time.Time, bool) {
	return now, c.evictions.Reevaluating()
}

func (c *Controller) nextEvent(time.Time) (Task, bool) {
	if len(c.events) == 0 {
		return Task{}, false
	}
	first := c.events[0]
	c.events[0] = nil
	c.events = c.events[1:]
	return Task{Action: *first}, true
}

func (c *Controller) eventsWait(now time.Time) (time.Time, bool) { return now, len(c.events) > 0 }

func (c *Controller) request(now time.Time) (Task, bool) {
	action, grant, ok := c.requests.Start(now)
	return Task{action, grant}, ok
}

func (c *Controller) evictPod(now time.Time) (Action, bool) {
	for range mostVisited {
		task, ok := c.evictions.Start(now)
		if !ok {
			return nil, false
		}
		if task.Decision.Reason != eviction.ReasonNodeEvicted || c.hold == holdNone {
			return Evict{task}, true
		}
		c.holdEviction(now, task)
		if c.evictions.Reevaluating() {
			break // each Start decides a slice of pods again
		}
	}
	return nil, false
}

// holdEviction keeps a pod whose whole node is evicted while our taints do not
// act. SuspendTaints does that for pods that leave for a taint.
func (c *Controller) holdEviction(now time.Time, task eviction.Task) {
	if n := c.nodes[task.Node]; n != nil && c.hold == holdOutage {
		c.cancelEmptying(now, n)
	}
	result := eviction.Result{Outcome: eviction.OutcomeNotDue, RetryAfter: time.Second}
	c.evictions.Finish(now, task, result)
}

// nextEviction promises none while Start would only decide pods again: tokens
// would be saved up for nothing.
func (c *Controller) nextEviction(now time.Time) (time.Time, bool) {
	return c.evictions.NextTask(now)
}

// Idle is for a replica that does not lead. It evaluates the zones, so as to
// know their history when it leads, and keeps no Events. It reports whether
// there is more to do at once: nodes and pods are decided again a slice at a
// time.
func (c *Controller) Idle(now time.Time) (more bool) {
	if c.synced {
		c.evaluateZones(now)
		c.noteDoubts(now)
		c.sweep(now)
		more = c.evictions.Reevaluate(now) || c.unswept > 0
	}
	c.events = nil
	c.doubts.untell() // it is told when this replica leads
	return more
}

// Zones returns the zones as they were last evaluated, by name. While the
// cluster is held none has a rate.
func (c *Controller) Zones() []zone.Status {
	all := c.zones.Zones()
	if c.Phase() == zone.PhaseHolding {
		for i := range all {
			all[i].Rate = 0
		}
	}
	return all
}

// Phase returns what the cluster as a whole allows. It is Holding also while
// heartbeats cannot be heard, and until silence counts again.
func (c *Controller) Phase() zone.Phase {
	if phase := c.zones.Phase(); phase != zone.PhaseActive || c.hold == holdNone {
		return phase
	}
	return zone.PhaseHolding
}

// Queued returns how many nodes of a zone wait for their NoExecute taint.
func (c *Controller) Queued(zone string) int { return c.queued[zone] }

// Damped returns how many writes to nodes and pods had to wait because their
// node had changed often shortly before. Those that a later change made
// needless are counted, too.
func (c *Controller) Damped() int { return c.damped }

// Waiting returns how many pods wait to be evicted, now or later.
func (c *Controller) Waiting() int { return c.evictions.Waiting() }

// Acting returns how many of them are being evicted; see eviction.Tracker.
func (c *Controller) Acting() int { return c.evictions.Acting() }

// Overdue returns how many pods should have left; see eviction.Tracker.
func (c *Controller) Overdue(now time.Time) (pods int, oldest time.Time) {
	return c.evictions.Overdue(now)
}

// Delayed returns how many pods wait for a budget; see eviction.Tracker.
func (c *Controller) Delayed(now time.Time, budget string) int {
	return c.evictions.Delayed(now, budget)
}

// PendingFrom goes through a part of those that wait; see eviction.Tracker.
func (c *Controller) PendingFrom(cursor *eviction.Cursor, most int) iter.Seq[eviction.Pending] {
	return c.evictions.PendingFrom(cursor, most)
}

// Len returns how many nodes and pods the controller knows.
func (c *Controller) Len() (nodes, pods int) { return len(c.nodes), len(c.pods) }
