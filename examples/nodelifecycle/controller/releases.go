package controller

import (
	"slices"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// releases is the part in which nodes wait for the rate of their zone, before
// they get a NoExecute taint or are emptied. It is told in which zone a node is,
// that a node may want something else, and the rates of zones. It hands out the
// nodes that are released; in EvictionModeNode it empties them itself. It reads
// what objects, silences and zones know, and tells evictions which nodes to
// empty.
type releases struct {
	config    Config
	objects   *objects
	silences  *silences
	zones     *zones
	evictions *eviction.Tracker

	// queue holds the nodes that wait, under the budget of their zones.
	queue   *timedqueue.Queue[string, *node]
	members map[string]int // nodes by zone
	// timeouts: a turn may also come to be earlier, because a timeout counts in it.
	timeouts bool
	queued   map[string]int // nodes in queue, by zone
}

// zoneBudget is the name of the budget of releases.
const zoneBudget = "zone"

func newReleases(
	config Config, o *objects, s *silences, z *zones, evictions *eviction.Tracker, now time.Time,
) (*releases, error) {
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, *node]{
		Backoff: config.Backoff,
		Budgets: []timedqueue.Budget[string, *node]{{
			Name:    zoneBudget,
			ShareOf: func(_ string, n *node) string { return n.zone },
			Held:    true, // a zone holds its nodes until it was evaluated
		}},
	}, now)
	return &releases{
		config: config, objects: o, silences: s, zones: z, evictions: evictions, queue: queue,
		members: make(map[string]int), queued: make(map[string]int),
		timeouts: config.EvictionMode == EvictionModeNode || config.EvictionModeOf != nil ||
			config.PodEvictionTimeoutOf != nil,
	}, err
}

// setZone moves a node to the zone that it is in now.
func (r *releases) setZone(now time.Time, n *node) {
	isNew, left, next := !n.counted, n.zone, r.config.ZoneOf(n.object)
	if !isNew && next == left {
		return
	}
	n.zone = next
	r.members[next]++
	if isNew {
		return
	}
	if e, waits := r.queue.Find(n.object.Name); waits {
		r.countQueued(left, -1)
		r.countQueued(next, +1)
		r.queue.Refile(e)
	}
	r.leaveZone(now, left)
}

// leaveZone takes a node out of a zone. With its last node the zone is gone,
// also when it was never evaluated.
func (r *releases) leaveZone(now time.Time, left string) {
	if r.members[left]--; r.members[left] > 0 {
		return
	}
	delete(r.members, left)
	r.queue.RemoveShare(now, zoneBudget, left)
}

// setRates takes the rates that zones have now.
func (r *releases) setRates(now time.Time, changes []zone.Change) {
	for _, change := range changes {
		r.queue.SetLimit(now, zoneBudget, change.Zone, rate.Limit(change.Rate))
	}
}

// forget drops a node that was deleted. The write with its taint may be under
// way.
func (r *releases) forget(now time.Time, n *node) {
	r.finish(now, n, timedqueue.OutcomeDone)
	r.leave(n)
	r.leaveZone(now, n.zone)
}

// wants reports whether a node should get a NoExecute taint, or be emptied, once
// its zone's rate allows. One that was declared and is heard again lives, and
// its kubelet is about to write that down.
func (r *releases) wants(n *node) bool {
	if n.ready == corev1.ConditionUnknown && !r.silences.isSilent(n) {
		return false
	}
	if r.modeOf(n) == EvictionModeNode {
		return n.notReady() && !n.emptied
	}
	_, tainted := taints.NoExecute(n.ready)
	return tainted && !hasNoExecute(n.object.Spec.Taints)
}

// isActedOn reports whether a node has its NoExecute taint, or was emptied.
func (r *releases) isActedOn(n *node) bool {
	if r.modeOf(n) == EvictionModeNode {
		return n.emptied
	}
	return hasNoExecute(n.object.Spec.Taints)
}

// plan makes a node wait for its zone's token, or not any more.
func (r *releases) plan(now time.Time, n *node) {
	if !n.notReady() && !r.silences.recovering(n) || r.zones.phase.removesTaints() ||
		r.modeOf(n) != EvictionModeNode {
		r.cancelEmptying(now, n)
	}
	name := n.object.Name
	switch turn := r.turnOf(n); {
	case n.state.holdsToken(): // what it does with the token ends that
	case !r.wants(n):
		r.leave(n)
	case r.queue.Add(name, n, turn):
		n.turn = turn
		r.countQueued(n.zone, +1)
	case r.timeouts, turn.After(n.turn):
		// It has fallen again, or a timeout has begun again or changed.
		n.turn = turn
		r.queue.Set(name, n, turn)
	}
}

func (r *releases) leave(n *node) {
	if r.queue.Remove(n.object.Name) {
		r.countQueued(n.zone, -1)
	}
}

// countQueued counts a node that comes to those that wait in a zone, or leaves.
func (r *releases) countQueued(zone string, more int) {
	if r.queued[zone] += more; r.queued[zone] == 0 {
		delete(r.queued, zone)
	}
}

// turnOf returns when a node may be released at the earliest. After an outage
// of all zones its timeout begins again: how long the node was really not ready
// is not known. The stabilization window of the zones has the grace period of
// all nodes; a node with a longer one of its own has that long to be heard.
func (r *releases) turnOf(n *node) time.Time {
	turn := r.zones.tracker.NotBefore(n)
	if grace := r.config.Health.GracePeriodOf; grace != nil {
		turn = latest(turn, r.zones.stabilizedAt.Add(grace(n.object)))
	}
	timeout := r.timeoutOf(n)
	if timeout <= 0 {
		return turn
	}
	return latest(turn, n.notReadySince.Add(timeout), r.zones.resumedAt.Add(timeout))
}

// modeOf returns what makes the pods of a node leave.
func (r *releases) modeOf(n *node) EvictionMode {
	if of := r.config.EvictionModeOf; of != nil {
		if mode := of(n.object); mode == EvictionModeTaint || mode == EvictionModeNode {
			return mode
		}
	}
	return r.config.EvictionMode
}

// timeoutOf returns how long a node must not have been ready before its zone
// releases it.
func (r *releases) timeoutOf(n *node) time.Duration {
	switch {
	case r.config.PodEvictionTimeoutOf != nil:
		return r.config.PodEvictionTimeoutOf(n.object)
	case r.modeOf(n) == EvictionModeNode:
		return r.config.PodEvictionTimeout
	}
	return 0
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// may reports whether any node may be released: our taints act, and the
// operator has not stopped them.
func (r *releases) may() bool {
	return !r.evictions.Held(HoldHalt, "") && !r.zones.phase.suspendsTaints()
}

// next returns when the rate of a zone next allows a node to be released.
func (r *releases) next(now time.Time) (time.Time, bool) {
	if !r.may() {
		return time.Time{}, false
	}
	return r.queue.Next(now)
}

// start hands out a node that the rate of its zone allows to be tainted, or to
// be emptied.
func (r *releases) start(now time.Time) (timedqueue.Item[string, *node], bool) {
	if !r.may() {
		return timedqueue.Item[string, *node]{}, false
	}
	return r.queue.Start(now)
}

// putOff gives back the token of a node that cannot be written to now; see
// resumeTurn.
func (r *releases) putOff(now time.Time, item timedqueue.Item[string, *node]) {
	r.queue.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomePostponed, Idle: true})
}

// resumeTurn gives a node back the turn that came while a write was under way.
func (r *releases) resumeTurn(n *node) {
	if item, waits := r.queue.Get(n.object.Name); waits && item.Due.IsZero() {
		r.queue.Set(n.object.Name, n, n.turn)
	}
}

// finish ends what a node does with its zone's token, if it has one.
func (r *releases) finish(now time.Time, n *node, outcome timedqueue.Outcome) {
	if !n.state.holdsToken() {
		return
	}
	r.queue.Finish(now, n.release, timedqueue.Result{Outcome: outcome})
	n.release = timedqueue.Item[string, *node]{}
	if _, waits := r.queue.Get(n.object.Name); !waits {
		r.countQueued(n.zone, -1)
	}
}

// empty tells the pods of a node that was released to leave, and returns how
// many it has. A node without pods that leave for that costs no token: the next
// one need not wait.
func (r *releases) empty(now time.Time, item timedqueue.Item[string, *node]) (pods int) {
	n := item.Value
	n.emptied = true
	r.evictions.EvictNode(now, item.Key, eviction.NodeRequest{
		Reason: "the node is not ready",
		While:  func(node *corev1.Node) bool { return isNotReady(nodehealth.ReadyStatus(node)) },
	})
	outcome := timedqueue.OutcomeSkipped
	if r.isEmptying(item.Key) {
		outcome = timedqueue.OutcomeDone
	}
	r.queue.Finish(now, item, timedqueue.Result{Outcome: outcome})
	r.countQueued(n.zone, -1)
	return len(r.objects.podsOn[item.Key])
}

// isEmptying reports whether pods leave a node because it is emptied. Some may
// wait for the end of a toleration already and leave earlier now, so the number
// that waits does not tell.
func (r *releases) isEmptying(name string) bool {
	return slices.ContainsFunc(r.objects.podsOn[name], func(p *pod) bool {
		decision, known := r.evictions.Decision(PodID(p.object))
		return known && decision.Reason == eviction.ReasonNodeEvicted
	})
}

// cancelEmptying takes back that a node is emptied.
func (r *releases) cancelEmptying(now time.Time, n *node) {
	if n.emptied {
		n.emptied = false
		r.evictions.CancelNodeEviction(now, n.object.Name)
	}
}
