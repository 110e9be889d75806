package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/zone"
)

// zones is the part that knows how disrupted the zones are, and owns the phase
// of the cluster. It is told that a node may count otherwise, that a blindness
// has ended, and when to evaluate. It hands out the zones with another rate,
// and says when our taints obey another phase. It reads what silences knows.
type zones struct {
	tracker  *zone.Tracker[*node]
	objects  *objects
	silences *silences

	// changedAt is when a zone changed that was not evaluated since; zero if none.
	changedAt time.Time
	// ready is how many nodes that count in their zones are ready, in all zones.
	ready int

	phase phase
	// calledAt is when the zones began to call for what they call for.
	calledAt time.Time
	// resumedAt is when our taints were last removed no longer, and stabilizedAt
	// when nodes last began to have time to be heard: then, or at a start.
	resumedAt, stabilizedAt time.Time
	// generation counts the changes of phase that change which taints are wanted.
	generation int
}

func newZones(config zone.Config, o *objects, s *silences, now time.Time) (*zones, error) {
	tracker, err := zone.NewTracker[*node](config, now)
	return &zones{
		tracker: tracker, objects: o, silences: s, phase: firstPhase, calledAt: now,
	}, err
}

// stabilize begins a stabilization window.
func (z *zones) stabilize(now time.Time) {
	z.stabilizedAt = now
	z.tracker.Stabilize(now)
}

// count tells a node's zone how the node counts. It reports whether our taints
// obey another phase.
func (z *zones) count(now time.Time, n *node) (obeysOther bool) {
	counts := z.countsInZone(n)
	blindnesses := z.silences.blindnesses
	if n.counted && counts == n.counts && (n.blindnesses == blindnesses || counts.Unconfirmed) {
		return false
	}
	before := z.countedReady(n)
	n.counts, n.counted = counts, true
	if n.blindnesses = blindnesses; counts.Unconfirmed {
		n.blindnesses = 0
	}
	z.tracker.Observe(now, n, counts)
	return z.changed(now, z.countedReady(n)-before)
}

// countsInZone returns how the node counts in its zone. A silent node does not
// count as ready, whatever its conditions say. Until that is confirmed it only
// holds what depends on it. So does a node that says it is ready, and was not
// heard since the last blindness.
func (z *zones) countsInZone(n *node) zone.Node {
	counts := zone.Node{Zone: n.zone, Excluded: n.excluded}
	switch {
	case n.ready != corev1.ConditionTrue:
	case n.silence.lasts():
		counts.Unconfirmed = !n.silence.isConfirmed()
	default:
		counts.Ready = true
		counts.Unconfirmed = !z.silences.health.HeardSinceBlindness(n.object.Name)
	}
	return counts
}

// countedReady is 1 for a node that counts in its zone and is ready for
// certain, else 0.
func (z *zones) countedReady(n *node) int {
	if n.blindnesses == z.silences.blindnesses && n.counts.Ready && !n.counts.Excluded {
		return 1
	}
	return 0
}

// forget drops a node that was deleted. It reports whether our taints obey
// another phase.
func (z *zones) forget(now time.Time, n *node) (obeysOther bool) {
	z.tracker.Forget(now, n)
	return z.changed(now, -z.countedReady(n))
}

// unconfirm records that a blindness has ended. No node that was ready before it
// is ready for certain until it is heard. It reports whether our taints obey
// another phase.
func (z *zones) unconfirm(now time.Time) (obeysOther bool) {
	z.tracker.Unconfirm(now, z.silences.health.Sight(now).LostAt)
	return z.changed(now, -z.ready)
}

// changed records that a zone has changed, and how many more of the nodes that
// count are ready.
func (z *zones) changed(now time.Time, more int) (obeysOther bool) {
	z.changedAt = now
	lastFell := more < 0 && z.ready+more == 0
	z.ready += more
	return lastFell && z.objects.synced && z.enter(now, z.phase.afterLastFell())
}

// lasting reports whether the zones have been as they are for a while, and were
// not evaluated since.
func (z *zones) lasting(now time.Time) bool {
	return !z.changedAt.IsZero() && now.Sub(z.changedAt) >= lastingState
}

const lastingState = time.Second

// evaluate finds the states that the zones are in now. It returns the zones with
// another state or rate, and whether our taints obey another phase.
func (z *zones) evaluate(now time.Time) (changes []zone.Change, obeysOther bool) {
	z.changedAt = time.Time{}
	evaluation := z.tracker.Evaluate(now)
	next := z.phase.next(evaluation.Phase, z.silences.health.Sight(now).Settled())
	return evaluation.Changes, z.enter(now, next)
}

// enter begins a phase. It is the only function that does. It reports whether
// our taints obey another phase.
func (z *zones) enter(now time.Time, next phase) (obeysOther bool) {
	before := z.phase
	z.phase = next
	if next.zones != before.zones {
		z.calledAt = now
	}
	if before.removesTaints() != next.removesTaints() {
		z.generation++
		if !next.removesTaints() {
			z.resumedAt, z.stabilizedAt = now, now
		}
	}
	return next.obeyed != before.obeyed
}
