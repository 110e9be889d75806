package observer

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

var _ timedqueue.Core[Task, Result] = (*Tracker)(nil)

// A Tracker is the core of an [Observer]: a nodehealth.NodeMonitor and a
// zone.Tracker, and the [View] of both. It is fed with nodes and leases as an
// informer delivers them. Start keeps the View up to date, so it must be called
// when Next says so, also by a caller that performs no task.
//
// It is not safe for concurrent use, except that its View is.
type Tracker struct {
	config      TrackerConfig
	health      *nodehealth.NodeMonitor
	zones       *zone.Tracker[string]
	view        *View
	nodes       map[string]*node
	synced      bool
	blindnesses uint32 // that have ended, as followed last
	// touched are the zones to publish. After a blindness those are all.
	touched    map[string]struct{}
	allTouched bool
	// suspects wait for a read of their leases.
	suspects         []nodehealth.NodeTask
	changes          changes
	reading, telling bool // a task of that Action is under way
}

// NewTracker returns a tracker that knows no node. Now must not be the zero
// time.
func NewTracker(config TrackerConfig, now time.Time) (*Tracker, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.ZoneOf == nil {
		config.ZoneOf = zone.ByTopology
	}
	health, err := nodehealth.NewNodeMonitor(config.Health, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	zones, err := zone.NewTracker[string](config.Zones, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	return &Tracker{
		config: config, health: health, zones: zones,
		view:    newView(zones.Phase()),
		nodes:   make(map[string]*node),
		touched: make(map[string]struct{}),
		changes: newChanges(),
	}, nil
}

// View returns what is known. It is the same View at each call.
func (t *Tracker) View() *View { return t.view }

// LastHeartbeat returns when a node was last heard; see
// [nodehealth.NodeMonitor.LastHeartbeat].
func (t *Tracker) LastHeartbeat(name string) (time.Time, bool) {
	return t.health.LastHeartbeat(name)
}

// MarkSynced records that the nodes and leases that existed at the start have
// been observed. No node falls silent before, and no zone has a state.
func (t *Tracker) MarkSynced(now time.Time) {
	t.synced = true
	t.health.MarkSynced()
	t.zones.Stabilize(now)
	t.evaluate(now)
	t.view.synced.Store(true)
}

// ObserveNode takes a node. One of another UID than before is a new one.
func (t *Tracker) ObserveNode(now time.Time, object *corev1.Node) {
	n, known := t.nodes[object.Name]
	if known && n.uid != object.UID {
		t.ForgetNode(now, object.Name)
		known = false
	}
	t.health.ObserveNode(now, object)
	t.followSight(now)
	name := t.config.ZoneOf(object)
	if !known {
		n = &node{uid: object.UID}
		t.nodes[object.Name] = n
	}
	if !known || n.zone != name {
		t.view.place(object.Name, name)
	}
	n.zone, n.excluded = name, zone.Excluded(object)
	n.ready = nodehealth.ReadyStatus(object) == corev1.ConditionTrue
	if !known && t.health.Silent(object.Name) {
		t.enter(now, object.Name, n, silent)
	}
	t.notice(now, object.Name, n)
}

// ForgetNode drops a node that was deleted.
func (t *Tracker) ForgetNode(now time.Time, name string) {
	n, known := t.nodes[name]
	if !known {
		return
	}
	if n.state == silent {
		t.changes.nodes[name] = struct{}{}
	}
	delete(t.nodes, name)
	t.view.remove(name)
	t.health.ForgetNode(now, name)
	t.zones.Forget(now, name)
	t.touched[n.counts.Zone] = struct{}{}
}

// ObserveLease takes a lease of the namespace kube-node-lease. It reports
// whether Start or Next may have changed: the heartbeat of a healthy node makes
// nothing due earlier, and nearly all are that.
func (t *Tracker) ObserveLease(now time.Time, lease *coordinationv1.Lease) (poll bool) {
	t.health.ObserveLease(now, lease)
	regained := t.followSight(now)
	n, known := t.nodes[lease.Name]
	if !known || n.onlyBeats(t.blindnesses) && t.config.Health.Detector == nil {
		return regained
	}
	t.notice(now, lease.Name, n)
	return true
}

// ForgetLease drops a lease that was deleted.
func (t *Tracker) ForgetLease(now time.Time, name string) { t.health.ForgetLease(now, name) }

// Answered says that the API server has answered a write of the caller, which
// proves as a heartbeat does that heartbeats are heard; see
// [nodehealth.Monitor.Answered]. A caller that writes nothing need not call it.
func (t *Tracker) Answered(now, sent time.Time) {
	t.health.Answered(now, sent)
	t.followSight(now)
}

// Unanswered says that such a write has failed; see
// [nodehealth.Monitor.Unanswered].
func (t *Tracker) Unanswered(now time.Time) { t.health.Unanswered(now) }

// Start brings the View up to date, and hands out a task if there is one.
func (t *Tracker) Start(now time.Time) (Task, bool) {
	if !t.synced {
		return Task{}, false
	}
	t.followHealth(now)
	t.evaluate(now)
	if task, ok := t.startRead(now); ok {
		return task, true
	}
	if t.telling || !t.changes.any() {
		return Task{}, false
	}
	t.telling = true
	return Task{Action: ActionTell, Change: t.changes.take()}, true
}

// Finish takes the result of a task that Start has handed out.
func (t *Tracker) Finish(now time.Time, task Task, result Result) {
	switch task.Action {
	case ActionTell:
		t.telling = false
	case ActionRead:
		t.reading = false
		for _, suspect := range task.suspects {
			t.settle(now, suspect, result)
		}
	}
}

// Next returns when Start must be called next.
func (t *Tracker) Next(now time.Time) (time.Time, bool) {
	switch {
	case !t.synced:
		return time.Time{}, false
	case t.allTouched, len(t.touched) > 0, len(t.suspects) > 0 && !t.reading, t.changes.any() && !t.telling:
		return now, true
	}
	next, ok := t.health.Next(now)
	if at, waits := t.zones.Next(now); waits && (!ok || at.Before(next)) {
		return at, true
	}
	return next, ok
}

// mostFound bounds the nodes that one Start visits, because the caller holds a
// lock.
const mostFound = 3_000

// followHealth takes which nodes have fallen silent, and which are heard again.
func (t *Tracker) followHealth(now time.Time) {
	visits := mostFound
	for {
		task, ok := t.health.StartWithin(now, &visits)
		if !ok {
			return
		}
		n := t.nodes[task.Key]
		if t.config.Confirm && task.State == nodehealth.StateSilent {
			t.suspects = append(t.suspects, task)
			if n.state == heard {
				t.enter(now, task.Key, n, suspected)
			}
			continue
		}
		t.health.Finish(now, task, nodehealth.Result{Outcome: nodehealth.OutcomeDone})
		next := heard
		if task.State == nodehealth.StateSilent {
			next = silent
		}
		t.enter(now, task.Key, n, next)
	}
}

// startRead hands out all suspects together: one request reads thousands. Those
// that are heard, forgotten or recreated meanwhile are left out.
func (t *Tracker) startRead(now time.Time) (Task, bool) {
	if t.reading || len(t.suspects) == 0 {
		return Task{}, false
	}
	task := Task{Action: ActionRead}
	for _, suspect := range t.suspects {
		if !t.health.Expired(now, suspect.Key) {
			t.health.Finish(now, suspect, nodehealth.Result{Outcome: nodehealth.OutcomeFailed})
			continue
		}
		task.Nodes = append(task.Nodes, suspect.Key)
		task.suspects = append(task.suspects, suspect)
	}
	t.suspects = nil
	t.reading = len(task.suspects) > 0
	return task, t.reading
}

// settle takes what a read has shown of one node.
func (t *Tracker) settle(now time.Time, suspect nodehealth.NodeTask, result Result) {
	outcome := nodehealth.OutcomeFailed
	switch {
	case result.Versions == nil:
	case t.health.ReadLease(suspect.Key, result.Versions[suspect.Key]):
		outcome = nodehealth.OutcomeAlive
	case t.health.Expired(now, suspect.Key):
		outcome = nodehealth.OutcomeDone
	}
	t.health.Finish(now, suspect, nodehealth.Result{Outcome: outcome})
	if outcome == nodehealth.OutcomeDone {
		t.enter(now, suspect.Key, t.nodes[suspect.Key], silent)
	}
}

// notice follows up that a node may have been heard. It does not wait for the
// monitor to hand the node out, which it does not do soon after a blindness.
func (t *Tracker) notice(now time.Time, name string, n *node) {
	if n.state != heard && t.config.Health.RecoveryPeriod == 0 && t.health.Returning(name) {
		t.enter(now, name, n, heard)
		return
	}
	t.count(now, name, n)
}

// enter changes the state of a node, and what depends on it. It is the one
// function that does.
func (t *Tracker) enter(now time.Time, name string, n *node, next state) {
	if (n.state == silent) != (next == silent) {
		t.changes.nodes[name] = struct{}{}
		t.view.setSilent(name, next == silent)
	}
	n.state = next
	t.count(now, name, n)
}

// count tells the zones how a node counts.
func (t *Tracker) count(now time.Time, name string, n *node) {
	counts := zone.Node{Zone: n.zone, Excluded: n.excluded}
	switch {
	case !n.ready, n.state == silent:
	case n.state == suspected:
		counts.Unconfirmed = true
	default:
		counts.Ready = true
		counts.Unconfirmed = !t.health.HeardSinceBlindness(name)
	}
	if n.counted && n.counts == counts && n.blindnesses == t.blindnesses {
		return
	}
	t.touched[n.zone] = struct{}{}
	if n.counted {
		t.touched[n.counts.Zone] = struct{}{}
	}
	n.counted, n.counts, n.blindnesses = true, counts, t.blindnesses
	t.zones.Observe(now, name, counts)
}

// followSight takes that heartbeats are heard again after a blindness. What was
// ready before may not be any more.
func (t *Tracker) followSight(now time.Time) (regained bool) {
	ended := t.health.Blindnesses()
	if ended == t.blindnesses {
		return false
	}
	t.blindnesses = ended
	t.zones.Unconfirm(now, t.health.Sight(now).LostAt)
	t.allTouched = true
	return true
}

// evaluate publishes the zones that have changed, and the phase.
func (t *Tracker) evaluate(now time.Time) {
	found := t.zones.Evaluate(now)
	if found.Phase != found.From {
		t.view.setPhase(found.Phase)
		t.changes.phase = true
		t.allTouched = true
	}
	for _, change := range found.Changes {
		t.touched[change.Zone] = struct{}{}
		if change.From != change.To {
			t.changes.zones[change.Zone] = struct{}{}
		}
	}
	for _, gone := range found.Gone {
		t.changes.zones[gone] = struct{}{}
	}
	if t.allTouched {
		for _, status := range t.zones.Zones() {
			t.view.setZone(status)
		}
	}
	for name := range t.touched {
		if status, known := t.zones.Zone(name); known {
			t.view.setZone(status)
		} else {
			t.view.removeZone(name)
		}
	}
	clear(t.touched)
	t.allTouched = false
}

// node is what is known of a node.
type node struct {
	uid      types.UID
	zone     string
	ready    bool // by its Ready condition
	excluded bool
	state    state
	// counted says that counts is how its zone counts it, told after so many
	// blindnesses.
	counted     bool
	counts      zone.Node
	blindnesses uint32
}

// onlyBeats reports whether a heartbeat changes nothing but when the node was
// heard. The first one after a blindness changes how it counts.
func (n *node) onlyBeats(blindnesses uint32) bool {
	return n.state == heard && n.blindnesses == blindnesses && !n.counts.Unconfirmed
}

// state is whether a node is silent:
//
//	        grace over         a read shows no heartbeat
//	heard ────────────► suspected ────────────► silent ◄── (found Unknown)
//	  ▲                     │                      │
//	  └─────── heard ───────┴──────────────────────┘
//
// Without TrackerConfig.Confirm a node is silent when its grace period is over.
type state uint8

const (
	heard state = iota
	suspected
	silent
)

func (s state) String() string { return [...]string{"heard", "suspected", "silent"}[s] }
