package eviction

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodesCurrent says that the watch of nodes has delivered something: an event,
// a bookmark, or a list. A taint whose TimeAdded is more than ten seconds older
// than that is attributed to a slow clock; see [StartTime].
//
// After a silence of more than ten seconds a watch delivers what it has missed.
// So in the ten seconds that follow, it counts as current before the silence.
// Call NodesCurrent after each event of nodes. A caller that never does
// declares the watch to be current whenever it observes a node.
func (t *Tracker) NodesCurrent(now time.Time) {
	now = t.advance(now)
	t.nodeWatch.hear(now, t.clock.day(now))
}

// PodsCurrent is NodesCurrent for the watch of pods and the times of their
// bindings.
func (t *Tracker) PodsCurrent(now time.Time) {
	now = t.advance(now)
	t.podWatch.hear(now, t.clock.day(now))
}

// sighting returns the circumstances of a change that is observed now. Appeared
// means that it did not exist at the start.
func (t *Tracker) sighting(now time.Time, appeared bool, w *watch) sighting {
	s := sighting{now: now, day: t.clock.day(now), shift: t.clock.shift}
	if appeared {
		s.current = w.current(now, s.day)
	}
	return s
}

// An Origin is what the start of a change of a node follows from. It is for
// changes that a caller counts itself, such as that of a condition.
type Origin struct{ origin origin }

// NodeChanged returns the origin of a change of a node that is first observed
// now, and whose time another client has stored; see [StartTime]. A change that
// is observed before MarkSynced existed at the start.
func (t *Tracker) NodeChanged(now time.Time, stored *metav1.Time) Origin {
	now = t.advance(now)
	return Origin{t.sighting(now, t.synced, &t.nodeWatch).origin(stored)}
}

// StartOf returns the time from which a change counts. It moves when
// [Tracker.ObserveDate] reports that the clocks have parted.
func (t *Tracker) StartOf(o Origin) time.Time { return o.origin.start(t.clock.shift) }

// date gives the taints of a node the starts that they have by the clock that
// counts.
func (t *Tracker) date(n *node) {
	if n.shift == t.clock.shift {
		return
	}
	n.shift = t.clock.shift
	if len(n.taints) == 0 {
		return
	}
	dated := make([]Taint, len(n.taints)) // tasks refer to the former ones
	for i, taint := range n.taints {
		taint.Start = t.clock.time(t.clock.distance(taint.origin.start(n.shift)))
		dated[i] = taint
	}
	n.taints, n.effective, n.effectiveOf = dated, effective(dated, n.suspends(t.suspended)), t.generation
}
