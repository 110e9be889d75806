package controller

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// told is the part that keeps what is to be told in Events. It is told what has
// happened, which nodes may have to wait, and what doubts follow from. It hands
// out Events and the nodes to look at. It knows no other part.
type told struct {
	// grace is how long a doubt lasts, and a node waits, before that is told.
	grace  time.Duration
	events []*Record // pointers, because there may be 100,000
	// waiting holds the nodes that may have to be told of because they wait.
	waiting *timedqueue.Queue[string, *node]
	// doubts are those that were noted, and doubtsNow those that were found last.
	doubts    doubtLog
	doubtsNow []Doubt
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

func newTold(grace time.Duration, now time.Time) (*told, error) {
	waiting, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, *node]{
		Budgets: []timedqueue.Budget[string, *node]{{Limit: toldPerSecond, Burst: toldAtOnce}},
	}, now)
	return &told{grace: grace, waiting: waiting}, err
}

// announce keeps an Event to be handed out.
func (t *told) announce(
	object corev1.ObjectReference, kind, reason, format string, args ...any,
) {
	t.events = append(t.events, &Record{object, kind, reason, fmt.Sprintf(format, args...)})
}

// startEvent hands out the first Event.
func (t *told) startEvent() (Record, bool) {
	if len(t.events) == 0 {
		return Record{}, false
	}
	first := t.events[0]
	t.events[0] = nil
	t.events = t.events[1:]
	return *first, true
}

// watch makes a node be looked at when it has waited for a grace period.
func (t *told) watch(now time.Time, n *node) {
	t.waiting.Add(n.object.Name, n, now.Add(t.grace))
}

// forget drops a node that was deleted.
func (t *told) forget(n *node) { t.waiting.Remove(n.object.Name) }

// noteDoubts records the doubts that there are now, and what is to be told of
// them.
func (t *told) noteDoubts(now time.Time, facts doubtFacts) {
	t.doubtsNow = appendDoubts(t.doubtsNow[:0], facts)
	t.events = t.doubts.note(now, t.doubtsNow, t.grace, t.events)
}

// nextDoubt returns when the beginning of a doubt has to be told.
func (t *told) nextDoubt() (time.Time, bool) { return t.doubts.next(t.grace) }

// drop drops all Events, and records that no doubt was told: it is told when
// this replica leads.
func (t *told) drop() {
	t.events = nil
	t.doubts.untell()
}

// Record tells about an object in an Event.
type Record struct {
	// Object is what it is about. It is empty for the controller itself, for which
	// a program names an object, for example the leader's lease.
	Object corev1.ObjectReference
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type, Reason, Message string
}

func nodeReference(object *corev1.Node) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: object.Name, UID: object.UID}
}

func podReference(namespace, name string, uid types.UID) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name, UID: uid,
	}
}

// Reasons of the Events about doubts. They are about the controller itself:
// their Record.Object is empty.
const (
	ReasonDoubt      = "NodesDoubted"
	ReasonDoubtEnded = "NodesDoubtEnded"
)

// ReasonEvictionDelayed is the reason of the Event about a node that waits for
// long, and that nothing holds which holds all nodes.
const ReasonEvictionDelayed = "EvictionDelayed"

// A recorder is the core of the Events that are to be recorded.
type recorder struct{ *Controller }

// Start hands out the first of them.
func (c recorder) Start(time.Time) (Record, bool) { return c.told.startEvent() }

// Next returns when there is one to record.
func (c recorder) Next(now time.Time) (time.Time, bool) { return now, len(c.told.events) > 0 }

// Finish takes that an Event was recorded, or was lost.
func (c recorder) Finish(now time.Time, _ Record, _ struct{}) { c.evaluateLasting(now) }

// A teller is the core of the Events about nodes that wait.
type teller struct{ recorder }

// Start hands out an Event about a node that has waited for a grace period, if
// what holds it does not hold all nodes. A user who runs kubectl describe node
// sees it.
func (c teller) Start(now time.Time) (Record, bool) {
	for range mostVisited {
		item, ok := c.told.waiting.Start(now)
		if !ok {
			return Record{}, false
		}
		record, result := c.eventOf(now, item.Value)
		c.told.waiting.Finish(now, item, result)
		if result.Outcome == timedqueue.OutcomeContinued {
			return record, true
		}
	}
	return Record{}, false
}

// Next returns when a node may next be told of.
func (c teller) Next(now time.Time) (time.Time, bool) { return c.told.waiting.Next(now) }

// eventOf returns the Event about a node if it is due, and when the node is
// looked at next. The reason may have changed by then.
func (c teller) eventOf(now time.Time, n *node) (Record, timedqueue.Result) {
	wait, waits := c.waitOf(now, n)
	if !waits {
		return Record{}, timedqueue.Result{Outcome: timedqueue.OutcomeSkipped}
	}
	next := wait.Since.Add(c.told.grace)
	if !next.After(now) && wait.Reason.holdsAll() {
		next = now.Add(c.told.grace)
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
