package controller

import (
	"iter"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/zone"
)

// view is all that can be asked of a controller, which embeds it. It holds the
// parts, reads what they know, and changes nothing.
type view struct {
	config    Config
	objects   *objects
	silences  *silences
	zones     *zones
	evictions *eviction.Tracker
	releases  *releases
	writes    *writes
	marks     *marks
	told      *told
}

// Blind returns how much time was blind; see nodehealth.Monitor.
func (v *view) Blind(now time.Time) (time.Duration, bool) { return v.silences.health.Blind(now) }

// Zones returns the zones as they were last evaluated, by name. While the
// cluster is held none has a rate.
func (v *view) Zones() []zone.Status {
	all := v.zones.tracker.Zones()
	if v.Phase() == zone.PhaseHolding {
		for i := range all {
			all[i].Rate = 0
		}
	}
	return all
}

// Phase returns what the cluster as a whole allows. It is Holding also while
// heartbeats cannot be heard, and until silence counts again.
func (v *view) Phase() zone.Phase { return v.zones.phase.ofCluster() }

// Queued returns how many nodes of a zone wait for their NoExecute taint.
func (v *view) Queued(zone string) int { return v.releases.queued[zone] }

// Damped returns how many writes to nodes and pods had to wait because their
// node had changed often shortly before. Those that a later change made
// needless are counted, too.
func (v *view) Damped() int { return v.writes.damped + v.marks.damped }

// Waiting returns how many pods wait to be evicted, now or later.
func (v *view) Waiting() int { return v.evictions.Waiting() }

// Acting returns how many of them are being evicted; see eviction.Tracker.
func (v *view) Acting() int { return v.evictions.Acting() }

// Overdue returns since when the pod should have left that is overdue the
// longest; see eviction.Tracker.
func (v *view) Overdue(now time.Time) (since time.Time, is bool) {
	return v.evictions.Overdue(now)
}

// Delayed returns how many pods wait for a share of a budget; see
// eviction.Tracker.
func (v *view) Delayed(budget string) int { return v.evictions.Delayed(budget) }

// Nodes returns the names of the nodes that evictions know; see
// eviction.Tracker.
func (v *view) Nodes() []string { return v.evictions.Nodes() }

// PendingOn goes through the pods of a node that wait to be evicted; see
// eviction.Tracker.
func (v *view) PendingOn(node string) iter.Seq[eviction.Pending] { return v.evictions.PendingOn(node) }

// Len returns how many nodes and pods the controller knows.
func (v *view) Len() (nodes, pods int) { return len(v.objects.nodes), len(v.objects.pods) }

// Doubts returns what delays declarations and NoExecute taints now, in the order
// of DoubtKinds.
func (v *view) Doubts(now time.Time) []Doubt { return appendDoubts(nil, v.doubtFacts(now)) }

// Doubted returns how long there were doubts of a kind, all together.
func (v *view) Doubted(now time.Time, kind DoubtKind) time.Duration {
	i := slices.Index(doubtKinds[:], kind)
	if i < 0 {
		return 0
	}
	r := &v.told.doubts[i]
	if r.since.IsZero() {
		return r.lasted
	}
	return r.lasted + max(now.Sub(r.since), 0)
}

// Refuted returns how many silences a live read has refuted.
func (v *view) Refuted() int { return v.silences.refuted }

// Unread returns how many live reads have failed.
func (v *view) Unread() int { return v.silences.reads.unread }

// Unconfirmed returns how many silent nodes have not been confirmed.
func (v *view) Unconfirmed() int { return v.silences.unconfirmed.count }

// Undeclared returns how many confirmed silent nodes have yet to be declared.
func (v *view) Undeclared() int { return v.silences.declarations.Len() }

// doubtFacts returns what doubts follow from now.
func (v *view) doubtFacts(now time.Time) doubtFacts {
	s := v.silences
	return doubtFacts{
		sight:  s.health.Sight(now),
		behind: s.behind, unconfirmed: s.unconfirmed,
		unread: s.reads.fail(), failedAt: s.reads.failedAt,
		phase: v.zones.phase.zones, phaseAt: v.zones.calledAt,
	}
}

// Refused returns how many writes to nodes and pods the API server has refused
// because the object is not the one that they were computed from, or is gone.
func (v *view) Refused() int { return v.writes.staleness.refused + v.marks.staleness.refused }

// Stale returns how many live reads after a refused write have shown a node or
// pod that the watch had not.
func (v *view) Stale() int { return v.writes.staleness.stale + v.marks.staleness.stale }

// Halted reports whether all evictions and NoExecute taints are held.
func (v *view) Halted() bool { return v.evictions.Held(HoldHalt, "") }

// NodeWaits returns those of the nodes that wait which are among the next most
// after the first ones, in an order that stays while no node is deleted. So a
// caller can go through all nodes of a large cluster in several turns.
func (v *view) NodeWaits(now time.Time, first, most int) []NodeWait {
	var waits []NodeWait
	for _, n := range v.objects.ordered[min(first, len(v.objects.ordered)):min(first+most, len(v.objects.ordered))] {
		if wait, waiting := v.waitOf(now, n); waiting {
			waits = append(waits, wait)
		}
	}
	return waits
}

// waitOf returns why a node is not acted on. It is false if the node is acted
// on, or is neither silent nor reported not ready.
func (v *view) waitOf(now time.Time, n *node) (NodeWait, bool) {
	wait := NodeWait{Node: n.object.Name, Zone: n.zone}
	switch {
	case v.releases.isActedOn(n):
		return NodeWait{}, false
	case n.notReady():
		wait.Since = n.notReadySince
	case n.silence.lasts():
		wait.Since = n.silence.since
	case v.silences.health.Silent(wait.Node) && !v.silences.health.Returning(wait.Node):
		// It was declared, and its record says something else without a heartbeat.
		wait.Since, _ = v.silences.health.LastHeartbeat(wait.Node)
	default:
		return NodeWait{}, false
	}
	switch {
	case v.releases.wants(n):
		wait.Reason = v.whyUnreleased(now, n)
	case n.silence.lasts():
		wait.Reason = v.whyUndeclared(now, n)
	case n.behind:
		wait.Reason = WaitWatch
	case !n.notReady():
		wait.Reason = WaitFailing
	default:
		wait.Reason = WaitHeard
	}
	return wait, true
}

// whyUndeclared returns why a silent node is not declared.
func (v *view) whyUndeclared(now time.Time, n *node) WaitReason {
	s := n.silence
	reads := s.state == suspected || s.state == reading
	declaration, _ := v.silences.declarations.Get(n.object.Name)
	switch {
	case (reads || v.config.DeclareUnconfirmed) && !v.silences.health.Sight(now).Counts():
		return WaitBlind
	case reads && (s.failures > 0 || v.silences.reads.failures > 0):
		return WaitUnread
	case reads && !s.isConfirmed():
		return WaitUnconfirmed
	case declaration.Attempts > 0:
		return WaitFailing
	}
	return WaitRequests
}

// whyUnreleased returns why a node that wants to be released is not.
func (v *view) whyUnreleased(now time.Time, n *node) WaitReason {
	if n.state.holdsToken() {
		return WaitRequests
	}
	if v.Halted() {
		return WaitHalted
	}
	switch v.Phase() {
	case zone.PhaseActive:
		return v.whyQueued(now, n)
	case zone.PhasePaused:
		return WaitPaused
	case zone.PhaseSuspended:
		return WaitSuspended
	case zone.PhaseRecovering:
		return WaitRecovering
	case zone.PhaseHolding:
		if !v.silences.health.Sight(now).Settled() {
			return WaitBlind
		}
	}
	return WaitHolding
}

// whyQueued returns why a node waits while nodes may be acted against.
func (v *view) whyQueued(now time.Time, n *node) WaitReason {
	if limit, _ := v.releases.queue.Limit(zoneBudget, n.zone); limit == 0 {
		return WaitRate
	}
	e, queued := v.releases.queue.Find(n.object.Name)
	if !queued {
		return WaitTurn // no sweep has come to it yet
	}
	if turn, scheduled := v.releases.queue.Due(e); scheduled && turn.After(now) {
		item, _ := v.releases.queue.Get(n.object.Name)
		switch {
		case item.Attempts > 0:
			return WaitFailing
		case v.releases.timeoutOf(n) > 0:
			return WaitTimeout
		}
		return WaitTurn // how disrupted its zone is becomes known only then
	}
	if _, blocked := v.releases.queue.Blocking(e); blocked {
		return WaitTurn
	}
	return WaitRequests
}
