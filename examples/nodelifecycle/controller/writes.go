package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// writes is the part that gives nodes the taints and labels that they need. It
// is told that a node may need something else, and how a write or a read of a
// node has ended. It hands out writes, and reads of nodes whose write was
// refused. It reads what silences and zones know, and asks releases for nodes
// whose NoExecute taint is due.
type writes struct {
	config   Config
	silences *silences
	zones    *zones
	releases *releases

	// queue holds the nodes that need a write, by name: two nodes of one name, one
	// after the other, are never written to at once.
	queue *timedqueue.Queue[string, *node]
	// recoveries and others are the two kinds of writes. In each those of damped
	// nodes come last.
	recoveries, others writesOfKind
	// damped counts the writes that had to wait for the pace of their nodes.
	damped    int
	staleness staleness

	watch watch
}

// writesOfKind are the writes of one kind.
type writesOfKind = timedqueue.Source[timedqueue.Item[string, *node]]

// watch is what tests want to know of the writes.
type watch struct {
	entered  func(from, to writeState) // nil for none
	computed int                       // how often wanted taints were computed
}

func newWrites(
	config Config, s *silences, z *zones, r *releases, now time.Time,
) (*writes, error) {
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, *node]{
		Backoff: config.Backoff, KindOf: kindOfWrite,
		Kinds: []string{recovery, dampedRecovery, dampedWrite},
	}, now)
	if err != nil {
		return nil, err
	}
	return &writes{
		config: config, silences: s, zones: z, releases: r, queue: queue,
		recoveries: timedqueue.InOrder(queue.OfKind(recovery), queue.OfKind(dampedRecovery)),
		others:     timedqueue.InOrder(queue.OfKind(otherWrite), queue.OfKind(dampedWrite)),
	}, nil
}

// enter puts a node into a state. It is the only function that does.
func (w *writes) enter(n *node, next writeState) {
	if w.watch.entered != nil {
		w.watch.entered(n.state, next)
	}
	n.state = next
}

// forget drops a node that was deleted.
func (w *writes) forget(n *node) {
	w.queue.Remove(n.object.Name)
	w.enter(n, resting)
}

// isPlanned reports whether planning a node again would change nothing.
func (w *writes) isPlanned(n *node) bool {
	return n.state == steady && n.planned == w.zones.generation
}

// unsettle makes a node be planned whatever was found before.
func (w *writes) unsettle(n *node) {
	if n.state == steady {
		w.enter(n, resting)
	}
}

// plan finds out what a node needs. While a write is under way it leaves the
// taints to the plan at the end of that write. Only a token of the zone makes
// the wanted taints be computed again, with the NoExecute taint.
func (w *writes) plan(now time.Time, n *node) {
	if n.state.underWay() || n.state.holdsToken() {
		return
	}
	n.pace.calmDown(now)
	wasDue := n.state == due
	wanted, change := w.wantedTaints(n, now, false)
	n.wanted, n.planned = nil, w.zones.generation
	if change {
		n.wanted = wanted
	}
	switch {
	case change, labelPatch(n.object) != nil, n.mustRead():
		w.enter(n, due)
	case w.staysSo(n):
		w.enter(n, steady)
	default:
		w.enter(n, resting)
	}
	w.file(now, n, wasDue)
}

// staysSo reports whether a node that is as it should be is steady. That one is
// ready is believed once it was heard. When one may be emptied depends on the
// time of day.
func (w *writes) staysSo(n *node) bool {
	if n.notReady() {
		return w.releases.modeOf(n) != EvictionModeNode || !w.releases.wants(n)
	}
	return n.ready == corev1.ConditionTrue && w.silences.health.HasHeartbeat(n.object.Name) &&
		!w.silences.recovering(n)
}

// wantedTaints returns the taints that a node should have now, and whether that
// is a change. A NoExecute taint of ours is kept, swapped or removed at any
// time; it is added only to a node that its zone has released.
//
// A node that is tainted as not ready but reports that it is ready keeps its
// taints until it is heard of. At our start it may have reported that right
// before it died. So does a node that reports nothing: the API server taints it
// when it is created. So does a node in its recovery period.
func (w *writes) wantedTaints(
	n *node, now time.Time, withNoExecute bool,
) ([]corev1.Taint, bool) {
	w.watch.computed++
	var room [8]corev1.Taint
	desired := w.config.NoSchedule.Append(room[:0], n.object)
	noExecute, notReady := taints.NoExecute(n.ready)
	if notReady && !w.zones.phase.removesTaints() &&
		(withNoExecute || hasNoExecute(n.object.Spec.Taints)) {
		desired = append(desired, noExecute)
	}
	removable := w.config.owned
	if n.ready == "" || !notReady && !w.silences.health.HasHeartbeat(n.object.Name) {
		removable = w.ownedUnheard
	}
	if w.silences.recovering(n) {
		removable = w.ownedUnheard
	}
	return taints.Reconcile(n.object.Spec.Taints, desired, removable, now)
}

// ownedUnheard leaves out the taints that only a heartbeat, or an outage of all
// zones, can remove.
func (w *writes) ownedUnheard(t *corev1.Taint) bool {
	if w.zones.phase.removesTaints() && taints.OwnsNoExecute(t) {
		return true
	}
	return w.config.owned(t) && t.Key != corev1.TaintNodeNotReady && t.Key != corev1.TaintNodeUnreachable
}

// file puts what a node wants now into the queue.
func (w *writes) file(now time.Time, n *node, wasDue bool) {
	name := n.object.Name
	// One that waits after a failure goes on to wait, maybe as another kind.
	e, waits := w.queue.Find(name)
	if waits {
		w.queue.Refile(e)
	}
	if n.state != due {
		return
	}
	next := n.mayWriteAt()
	if !wasDue && !n.mustRead() && next.After(now) {
		w.damped++
	}
	switch {
	case !waits:
		w.queue.Add(name, n, latest(now, next))
	case n.pace.damped():
		w.hasten(name, next)
	}
}

// hasten makes a damped node that waits due earlier: it may protect pods now,
// which it did not before. If it is due too early, due notices.
func (w *writes) hasten(name string, next time.Time) {
	e, _ := w.queue.Find(name)
	item, _ := w.queue.Get(name)
	if !w.queue.Acting(e) && item.Attempts == 0 && next.Before(item.Due) {
		w.queue.Schedule(e, next)
	}
}

// nextOther returns when a node may next be written to, unless that takes back a
// taint. It counts releases as well: each makes its node the first to be
// written.
func (w *writes) nextOther(now time.Time) (time.Time, bool) {
	write, writes := w.others.Next(now)
	release, releases := w.releases.next(now)
	if !writes || releases && release.Before(write) {
		return release, releases
	}
	return write, true
}

// takeRelease takes the nodes that the rates of their zones allow. The first one
// that gets its NoExecute taint becomes the first in the queue. It takes no more
// than that one, and none with a write under way. Else the token would be used
// after that write, in one moment with those that the zone has earned meanwhile.
// With an API server that does not answer that is half a minute. Nodes of
// EvictionModeNode are emptied. It visits at most visits nodes and pods, and
// subtracts those that it has visited.
func (w *writes) takeRelease(now time.Time, visits *int) {
	for *visits > 0 {
		item, ok := w.releases.start(now)
		if !ok {
			return
		}
		*visits--
		if w.releases.modeOf(item.Value) == EvictionModeNode {
			*visits -= w.releases.empty(now, item)
		} else if w.putFirst(now, item) {
			return
		}
	}
}

// putFirst makes a node that was released the first in the queue. It reports
// false, and gives its token back, if the node cannot be written to now.
func (w *writes) putFirst(now time.Time, item timedqueue.Item[string, *node]) bool {
	n := item.Value
	added := w.queue.Add(item.Key, n, now)
	if e, _ := w.queue.Find(item.Key); w.queue.Acting(e) || n.mustRead() {
		// A write to a node of that name is under way, maybe to its former self, or
		// it has to be read first. The end of that gives the node its turn back.
		if added {
			w.queue.Remove(item.Key)
		}
		w.releases.putOff(now, item)
		return false
	}
	n.release = item
	w.enter(n, released)
	// It has waited for its turn already and comes before all others. It may have
	// been another kind of write, and backed off as that.
	w.queue.Retry(item.Key)
	w.queue.Set(item.Key, n, time.Unix(0, 0))
	return true
}

// ofReleased returns the write of a released node: its NoExecute taint together
// with all other changes. It returns nil if the node does not need that taint
// any more; see endUnused.
func (w *writes) ofReleased(now time.Time, n *node) (*NodeChange, error) {
	if !w.releases.wants(n) {
		return nil, nil
	}
	wanted, change := w.wantedTaints(n, now, true)
	if !change || !hasNoExecute(wanted) {
		return nil, nil
	}
	data, err := taints.Patch(n.object, wanted)
	if err != nil {
		return nil, err
	}
	w.enter(n, releasing)
	write := taintChange(n, data, wanted)
	write.Released = true
	return write, nil
}

// endUnused ends a release that writes nothing. A node that wants to be released
// all the same backs off. With its token returned it would be released again at
// once, and Start would never return.
func (w *writes) endUnused(now time.Time, n *node, err error) {
	outcome := timedqueue.OutcomeSkipped
	if err != nil || w.releases.wants(n) {
		outcome = timedqueue.OutcomeFailed
	}
	w.releases.finish(now, n, outcome)
	w.enter(n, resting)
}

// ofDue returns the write that a node needs that was planned, or nil. It returns
// an error if there can be none: the node has no UID to guard it with.
func (w *writes) ofDue(now time.Time, n *node) (*NodeChange, error) {
	if n.state == due && n.mayWriteAt().After(now) {
		return nil, nil // it wants something else than when it began to wait
	}
	if n.mustRead() {
		w.enter(n, writing)
		return &NodeChange{Action: NodeActionRead, silent: n.silence.lasts()}, nil
	}
	if n.wanted != nil {
		data, err := taints.Patch(n.object, n.wanted)
		if err != nil {
			return nil, err
		}
		w.enter(n, writing)
		return taintChange(n, data, n.wanted), nil
	}
	if data := labelPatch(n.object); data != nil {
		w.enter(n, writing)
		patch := Patch{Type: types.StrategicMergePatchType, Data: data}
		return &NodeChange{Action: NodeActionLabel, Patch: patch}, nil
	}
	return nil, nil
}

// finish ends a write to a node of this name. The node may be another one by
// now, which has waited for that. It has to be planned again.
func (w *writes) finish(now time.Time, item timedqueue.Item[string, *node], err error) {
	written := item.Value
	if written.state == releasing {
		// After a failure it waits for another token.
		w.releases.finish(now, written, outcomeOf(err, timedqueue.OutcomeDone))
	}
	w.enter(written, resting)
	if err == nil {
		written.pace.count(now)
	}
	w.queue.Finish(now, item, resultOf(err))
}

// finishRead ends a read of a node. What comes next is computed from what was
// read.
func (w *writes) finishRead(now time.Time, item timedqueue.Item[string, *node], err error) {
	w.enter(item.Value, resting)
	w.queue.Finish(now, item, resultOfRead(w.config.Backoff, now, err))
}

// noteRefusal records that a write to a node has failed, if it was refused. The
// watch is given a moment to show why. Then the node is read from the API
// server, before anything is written to it: a watch that has stalled shows
// nothing for ever. The node has to be planned again.
func (w *writes) noteRefusal(now time.Time, n *node, err error) {
	if w.staleness.refuses(err) && !n.mustRead() {
		n.readAt = now.Add(w.config.Backoff.Delay(0))
	}
}

// noteRead records what a live read of a node has shown, and reports whether
// that is news.
func (w *writes) noteRead(now time.Time, n *node, read NodeChange, live *corev1.Node) bool {
	n.readAt, n.lastRead = time.Time{}, now
	return w.staleness.shows(n.object, read.Node, live)
}
