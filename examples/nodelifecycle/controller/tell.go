package controller

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// Record tells about an object in an Event.
type Record struct {
	// Object is what it is about. It is empty for the controller itself, for which
	// a program names an object, for example the leader's lease.
	Object corev1.ObjectReference
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type, Reason, Message string
}

// A recorder is the core of the Events that are to be recorded.
type recorder struct{ *Controller }

// Start hands out the first of them.
func (c recorder) Start(time.Time) (Record, bool) {
	if len(c.events) == 0 {
		return Record{}, false
	}
	first := c.events[0]
	c.events[0] = nil
	c.events = c.events[1:]
	return *first, true
}

// Next returns when there is one to record.
func (c recorder) Next(now time.Time) (time.Time, bool) { return now, len(c.events) > 0 }

// Finish takes that an Event was recorded, or was lost.
func (c recorder) Finish(now time.Time, _ Record, _ struct{}) { c.evaluateLasting(now) }

// Reasons of the Events about doubts. They are about the controller itself:
// their Record.Object is empty.
const (
	ReasonDoubt      = "NodesDoubted"
	ReasonDoubtEnded = "NodesDoubtEnded"
)

// ReasonEvictionDelayed is the reason of the Event about a node that waits for
// long, and that nothing holds which holds all nodes.
const ReasonEvictionDelayed = "EvictionDelayed"

// tellPeriod is the shortest time between two Events that a doubt of the same
// kind has begun. So a doubt that comes and goes is told of now and then.
const tellPeriod = 5 * time.Minute

// doubtLog is what is recorded of each kind of doubt, by its place in
// doubtKinds.
type doubtLog [len(doubtKinds)]doubtRecord

type doubtRecord struct {
	// since is when the doubt began, zero if there is none.
	since time.Time
	// lasted is how long all doubts of the kind lasted that have ended.
	lasted time.Duration
	// told says that its beginning was told, at toldAt; its end will be.
	told   bool
	toldAt time.Time
}

// note records the doubts that there are now. The Events to record are appended
// to events.
func (l *doubtLog) note(now time.Time, doubts []Doubt, grace time.Duration, events []*Record) []*Record {
	for i, kind := range doubtKinds {
		r := &l[i]
		if len(doubts) == 0 || doubts[0].Kind != kind {
			events = r.end(now, kind, events)
			continue
		}
		d := doubts[0]
		doubts = doubts[1:]
		if r.since.IsZero() {
			r.since = d.Since
		}
		if at, tells := r.tells(kind, grace); tells && !now.Before(at) {
			r.told, r.toldAt = true, now
			events = append(events, &Record{
				Type: corev1.EventTypeWarning, Reason: ReasonDoubt, Message: d.String(),
			})
		}
	}
	return events
}

// tells returns when the beginning of a doubt is told, if it has yet to be. A
// suspension is told at once. Other doubts that end before a grace period
// has passed are no news, nor is a stabilization window, which ends by itself.
func (r *doubtRecord) tells(kind DoubtKind, grace time.Duration) (time.Time, bool) {
	if r.since.IsZero() || r.told || kind == DoubtRecovering {
		return time.Time{}, false
	}
	at := r.since
	if kind != DoubtSuspended {
		at = at.Add(grace)
	}
	if again := r.toldAt.Add(tellPeriod); !r.toldAt.IsZero() && at.Before(again) {
		at = again
	}
	return at, true
}

// untell records that nothing was told.
func (l *doubtLog) untell() {
	for i := range l {
		l[i].told, l[i].toldAt = false, time.Time{}
	}
}

func (r *doubtRecord) end(now time.Time, kind DoubtKind, events []*Record) []*Record {
	if r.since.IsZero() {
		return events
	}
	if r.told {
		events = append(events, &Record{
			Type: corev1.EventTypeNormal, Reason: ReasonDoubtEnded,
			Message: "Doubt of the kind " + string(kind) + " has ended. It began at " + utc(r.since) + ".",
		})
	}
	r.lasted += max(now.Sub(r.since), 0)
	r.since, r.told = time.Time{}, false
	return events
}

// next returns when the beginning of a doubt has to be told.
func (l *doubtLog) next(grace time.Duration) (next time.Time, ok bool) {
	for i, kind := range doubtKinds {
		if at, tells := l[i].tells(kind, grace); tells && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	return next, ok
}

const (
	// tellAgain is after which time a node that still waits is told of again. The
	// API server keeps an Event for an hour by default, and the reason may be
	// another one by then.
	tellAgain = 20 * time.Minute
	// toldPerSecond and toldAtOnce bound the Events about nodes that wait. Each is
	// a write to the API server, and the page and the metric have all nodes.
	toldPerSecond, toldAtOnce = 1, 10
)

// newUntold returns the queue of the nodes that may have to be told of.
func newUntold(now time.Time) (*timedqueue.Queue[string, *node], error) {
	return timedqueue.NewQueue(timedqueue.QueueConfig[string, *node]{
		Budgets: []timedqueue.Budget[string, *node]{{Limit: toldPerSecond, Burst: toldAtOnce}},
	}, now)
}

// willTell makes a node be looked at when it has waited for a grace period.
func (c *Controller) willTell(now time.Time, n *node) {
	c.untold.Add(n.object.Name, n, now.Add(c.grace))
}

// A teller is the core of the Events about nodes that wait.
type teller struct{ recorder }

// Start hands out an Event about a node that has waited for a grace period, if
// what holds it does not hold all nodes. A user who runs kubectl describe node
// sees it.
func (c teller) Start(now time.Time) (Record, bool) {
	for range mostVisited {
		item, ok := c.untold.Start(now)
		if !ok {
			return Record{}, false
		}
		record, result := c.eventOf(now, item.Value)
		if c.untold.Finish(now, item, result); result.Outcome == timedqueue.OutcomeContinued {
			return record, true
		}
	}
	return Record{}, false
}

// Next returns when a node may next be told of.
func (c teller) Next(now time.Time) (time.Time, bool) { return c.untold.Next(now) }

// eventOf returns the Event about a node if it is due, and when the node is
// looked at next. The reason may have changed by then.
func (c *Controller) eventOf(now time.Time, n *node) (Record, timedqueue.Result) {
	wait, waits := c.waitOf(now, n)
	if !waits {
		return Record{}, timedqueue.Result{Outcome: timedqueue.OutcomeSkipped}
	}
	next := wait.Since.Add(c.grace)
	if !next.After(now) && wait.Reason.holdsAll() {
		next = now.Add(c.grace)
	}
	if next.After(now) {
		return Record{}, timedqueue.Result{Outcome: timedqueue.OutcomePostponed, At: next}
	}
	message := fmt.Sprintf("Node %s is silent or not ready, and its pods are not evicted: %s.", wait.Node, wait.Reason)
	zones := c.Zones()
	isZone := func(z zone.Status) bool { return z.Zone == wait.Zone }
	if i := slices.IndexFunc(zones, isZone); i >= 0 {
		message += " " + DescribeZone(zones[i], c.Queued(wait.Zone))
	}
	return Record{nodeReference(n.object), corev1.EventTypeWarning, ReasonEvictionDelayed, message},
		timedqueue.Result{Outcome: timedqueue.OutcomeContinued, At: now.Add(tellAgain)}
}
