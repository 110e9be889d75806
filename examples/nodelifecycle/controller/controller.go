package controller

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// A Controller is the reducer that the package comment describes. It is not
// safe for concurrent use; a timedqueue.Dispatcher is its lock.
type Controller struct {
	config  Config
	nodes   map[string]*node
	ordered []*node // all nodes, to visit them in the same order each time
	pods    map[types.UID]*pod
	podsOn  map[string][]*pod // by node name, also of nodes that are not known
	// episodes counts the times that the readiness of some node has changed.
	episodes int

	health    *nodehealth.NodeMonitor
	zones     *zone.Tracker[*node]
	evictions *eviction.Tracker

	// releases holds the nodes that wait for a NoExecute taint, or to be emptied,
	// under the budget of their zones.
	releases *timedqueue.Queue[string, *node]
	members  map[string]int // nodes by zone
	queued   map[string]int // nodes in releases, by zone
	// writes holds the nodes that need a write, by name: two nodes of one name,
	// one after the other, are never written to at once.
	writes *timedqueue.Queue[string, *node]
	// marks holds the pods that are to be marked not ready.
	marks *timedqueue.Queue[types.UID, *pod]

	// suspects are the silent nodes that wait for a live read, and declarations
	// those whose silence was confirmed.
	suspects     []*node
	reads        reads
	declarations *timedqueue.Queue[string, *node]

	// recoveries and otherWrites are the two kinds of writes. In each those of
	// damped nodes come last.
	recoveries, otherWrites writes
	// damped counts the writes that had to wait for the pace of their nodes.
	damped int

	staleness staleness

	watch  watch
	events []*Record // to be handed out; pointers, because there may be 100,000
	// untold holds the nodes that may have to be told of because they wait.
	untold *timedqueue.Queue[string, *node]
	synced bool
	// fixedGrace: no heartbeat makes a grace period end earlier.
	fixedGrace bool

	// changedAt is when a zone changed that was not evaluated since; zero if none.
	changedAt time.Time
	// ready is how many nodes that count in their zones are ready, in all zones.
	ready int
	hold  hold
	// blindnesses is one more than how many have ended, the last one at
	// regainedAt. Blind is how much time they took, in which no heartbeat could be
	// heard.
	blindnesses uint32
	blind       time.Duration
	regainedAt  time.Time
	// resumedAt is when the hold of an outage of all zones ended.
	resumedAt time.Time
	// generation counts the changes of hold that change which taints are wanted.
	generation int
	// phaseAt is when the phase of the zones changed last.
	phaseAt time.Time
	// doubts are those that were noted, and doubtsNow those that were found last.
	doubts    doubtLog
	doubtsNow []Doubt
	// grace is the grace period of Health, and unbroken its UnbrokenPeriod.
	grace, unbroken time.Duration
	// unswept is how many nodes, the first ones in ordered, have yet to be planned
	// again.
	unswept int
}

// New returns a controller that knows nothing yet.
func New(config Config, now time.Time) (*Controller, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	c := &Controller{
		config:    config,
		nodes:     make(map[string]*node),
		pods:      make(map[types.UID]*pod),
		podsOn:    make(map[string][]*pod),
		staleness: staleness{pods: make(map[types.UID]struct{})},
		queued:    make(map[string]int),

		members: make(map[string]int),
		phaseAt: now,

		blindnesses: 1,

		fixedGrace: config.Health.Detector == nil && config.Health.Combine == nil,
	}
	var err error
	if c.health, err = nodehealth.NewNodeMonitor(config.Health, now); err != nil {
		return nil, err
	}
	if c.zones, err = zone.NewTracker[*node](config.Zone, now); err != nil {
		return nil, err
	}
	config.Eviction.Holds = append(slices.Clone(config.Eviction.Holds), holds()...)
	if c.evictions, err = eviction.NewTracker(config.Eviction, now); err != nil {
		return nil, err
	}
	c.grace, c.unbroken = c.health.Config().GracePeriod, c.health.Config().UnbrokenPeriod
	if err := c.addQueues(now); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Controller) addQueues(now time.Time) (err error) {
	if c.releases, err = timedqueue.NewQueue(timedqueue.QueueConfig[string, *node]{
		Backoff: c.config.Backoff,
		Budgets: []timedqueue.Budget[string, *node]{{
			Name:    zoneBudget,
			ShareOf: func(_ string, n *node) string { return n.zone },
			Held:    true, // a zone holds its nodes until it was evaluated
		}},
	}, now); err != nil {
		return err
	}
	due := timedqueue.QueueConfig[string, *node]{
		Backoff: c.config.Backoff, KindOf: kindOfWrite, Kinds: []string{recovery, dampedRecovery, dampedWrite},
	}
	if c.writes, err = timedqueue.NewQueue(due, now); err != nil {
		return err
	}
	declarations := timedqueue.QueueConfig[string, *node]{Backoff: c.config.Backoff}
	if c.declarations, err = timedqueue.NewQueue(declarations, now); err != nil {
		return err
	}
	c.recoveries = timedqueue.InOrder(c.writes.OfKind(recovery), c.writes.OfKind(dampedRecovery))
	c.otherWrites = timedqueue.InOrder(c.writes.OfKind(otherWrite), c.writes.OfKind(dampedWrite))
	marks := timedqueue.QueueConfig[types.UID, *pod]{Backoff: c.config.Backoff}
	if c.marks, err = timedqueue.NewQueue(marks, now); err != nil {
		return err
	}
	c.untold, err = newUntold(now)
	return err
}

// writes are the writes of one kind.
type writes = timedqueue.Source[timedqueue.Item[string, *node]]

// zoneBudget is the name of the budget of releases.
const zoneBudget = "zone"

// mostVisited bounds the nodes that one Start visits for one purpose, so that
// no Start takes long.
const mostVisited = 1000

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

// Answered says that the API server has just answered a write that was sent at
// a time, of the leader's lease for example, so that heartbeats of nodes would
// be heard; see nodehealth.Monitor. The writes of its own jobs need not be told.
func (c *Controller) Answered(now, sent time.Time) {
	c.health.Answered(now, sent)
	c.followSight(now)
}

// Unanswered says that such a write has failed; see nodehealth.Monitor.
func (c *Controller) Unanswered(now time.Time) { c.health.Unanswered(now) }

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
	if at := c.health.Sight(now).RegainedAt; !at.IsZero() {
		at = at.Add(c.unbroken) // of what is held since the API server did not answer
		if !ok || at.Before(next) {
			next, ok = at, true
		}
	}
	if at, tells := c.doubts.next(c.grace); tells && (!ok || at.Before(next)) {
		next, ok = at, true
	}
	return next, ok
}

// Idle is for a replica that does not lead. It evaluates the zones, so as to
// know their history when it leads, and keeps no Events. It reports whether
// there is more to do at once: nodes are planned again a slice at a time.
func (c *Controller) Idle(now time.Time) (more bool) {
	if c.synced {
		c.evaluateZones(now)
		c.noteDoubts(now)
		c.sweep(now)
		more = c.unswept > 0
	}
	c.events = nil
	c.doubts.untell() // it is told when this replica leads
	return more
}

// announce records an Event to be handed out.
func (c *Controller) announce(
	object corev1.ObjectReference, kind, reason, format string, args ...any,
) {
	c.events = append(c.events, &Record{object, kind, reason, fmt.Sprintf(format, args...)})
}

func nodeReference(object *corev1.Node) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: object.Name, UID: object.UID}
}

func podReference(namespace, name string, uid types.UID) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name, UID: uid,
	}
}

// recovering reports whether a node that was silent is ready again, but not yet
// for the recovery period. Meanwhile it keeps its taints not-ready and
// unreachable, and gets none. Its zone counts what it reports.
func (c *Controller) recovering(n *node) bool {
	return c.config.Health.RecoveryPeriod > 0 && n.ready == corev1.ConditionTrue &&
		c.health.Silent(n.object.Name)
}

// enter puts a node into a state. It is the only function that does.
func (c *Controller) enter(n *node, next writeState) {
	if c.watch.entered != nil {
		c.watch.entered(n.state, next)
	}
	n.state = next
}

// watch is what tests want to know of a controller.
type watch struct {
	entered  func(from, to writeState) // nil for none
	computed int                       // how often wanted taints were computed
}
