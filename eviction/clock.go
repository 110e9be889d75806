package eviction

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A clock relates the two times that a tracker has to do with. Its own time
// follows the monotonic readings of what it is told. They stand still while the
// machine is suspended, and nothing sets them. API objects have times of day,
// and the time of day of a machine can be set wrong. So when the two part, the
// new time of day counts only once the API server has confirmed it.
type clock struct {
	epoch time.Time // the tracker's time is a distance from here
	// shift is how far the time of day that counts is ahead of that of epoch and
	// the time since then. What happened at a time of day was that much longer
	// ago than it seemed at epoch.
	shift time.Duration
	// base is epoch with the time of day that it would have had by now. Times that
	// are derived from it show the time of day that counts.
	base time.Time
}

func newClock(epoch time.Time) clock { return clock{epoch: epoch, base: epoch} }

// parted is how far time of day and monotonic time may part, together, before
// it matters.
const parted = time.Second

// agreement is how far the machine's time of day may differ from that of the
// API server, which tells it in whole seconds.
const agreement = 2 * time.Second

// confirm takes the time of day that the API server told in its answer to a
// request that was sent at a time. It reports whether another time of day
// counts from now on.
func (c *clock) confirm(now, sent, date time.Time) bool {
	if !agree(now, sent, date) {
		return false
	}
	shift := ofDay(now).Sub(ofDay(c.epoch)) - now.Sub(c.epoch)
	if (shift - c.shift).Abs() <= parted {
		return false
	}
	c.shift, c.base = shift, now.Add(c.epoch.Sub(now))
	return true
}

// agree reports whether the time of day of now is the API server's.
func agree(now, sent, date time.Time) bool {
	day, took := ofDay(now), max(now.Sub(sent), 0)
	return !date.After(day.Add(agreement)) && !date.Before(day.Add(-took-agreement))
}

// day returns the time of day that counts.
func (c *clock) day(now time.Time) time.Time {
	return ofDay(c.epoch).Add(now.Sub(c.epoch)).Add(c.shift)
}

// time returns the time at a distance from the epoch.
func (c *clock) time(d time.Duration) time.Time { return c.base.Add(d) }

// distance returns how long after the epoch a time is.
func (c *clock) distance(at time.Time) time.Duration { return at.Sub(c.epoch) }

// ofDay returns a time without its monotonic reading.
func ofDay(t time.Time) time.Time { return t.Round(0) }

// A watch is what is known of when a watch was current. Its zero value knows
// nothing, and counts as current at any time.
type watch struct {
	heard time.Time // when it delivered something last
	day   time.Time // the same, as a time of day
	// resumed is when it delivered something after a silence, and before is the
	// time of day at which it had delivered something before that.
	resumed, before time.Time
}

// hear records that the watch has delivered something.
func (w *watch) hear(now, day time.Time) {
	switch {
	case w.heard.IsZero():
		w.before = day
	case now.Sub(w.heard) > trustedDelay:
		w.resume(now)
	}
	w.heard, w.day = now, day
}

// resume records that the watch was silent, and delivers from now on what it
// has missed.
func (w *watch) resume(now time.Time) { w.resumed, w.before = now, w.day }

// current returns the time of day at which the watch was current last.
func (w *watch) current(now, day time.Time) time.Time {
	switch {
	case w.heard.IsZero():
		return day
	case now.Sub(w.heard) > trustedDelay:
		return w.day
	case !w.resumed.IsZero() && now.Sub(w.resumed) < trustedDelay:
		return w.before
	}
	return day
}

// trustedDelay is the time that a change may take to be observed while its
// watch is current. An older stored time is attributed to a slow clock. It is
// also the silence after which a watch counts as interrupted, and the time that
// it has then to deliver what was missed.
const trustedDelay = 10 * time.Second

// A sighting is the circumstances under which a change is first observed.
type sighting struct {
	now time.Time
	day time.Time // the time of day that counts
	// current is the time of day at which the watch was current last, zero if the
	// change may have happened before the start.
	current time.Time
	shift   time.Duration // of the clock
}

// at returns the sighting of what is observed at another time.
func (s sighting) at(now time.Time) sighting {
	s.now, s.day = now, s.day.Add(now.Sub(s.now))
	return s
}

// An origin is what a start follows from.
type origin struct {
	seen time.Time
	// stored is the stored time on the tracker's clock at a shift of zero. It is
	// the zero time if there is none that is trusted.
	stored time.Time
}

// origin returns what the start of a change follows from whose time another
// client has stored.
func (s sighting) origin(stored *metav1.Time) origin {
	o := origin{seen: s.now}
	switch {
	case stored.IsZero():
	case !s.current.IsZero() && stored.Time.Before(s.current.Add(-trustedDelay)):
	default:
		// In two steps: the first may saturate.
		o.stored = s.now.Add(stored.Sub(s.day)).Add(s.shift)
	}
	return o
}

// start returns from when a change counts, on a clock with that shift.
func (o origin) start(shift time.Duration) time.Time {
	if o.stored.IsZero() {
		return o.seen
	}
	at := o.stored.Add(-shift)
	if at.After(o.seen) {
		return o.seen
	}
	return at.Add(time.Second)
}

// ObserveDate takes the time of day of the API server: date, from its answer to
// a request that was sent at a time. Sent and now must have the monotonic
// readings that time.Now gives.
//
// When the time of day of now agrees with date, it is believed from then on.
// They agree within two seconds and the time that the answer has taken. Then
// the deadlines that follow from times of API objects move by as much as the
// time of day has parted from monotonic time. That counts from the start or
// from the last move, and a second or less moves nothing. All else follows
// monotonic time: first sights, the waits after attempts, budgets and requests.
//
// So a machine that was suspended evicts on time as soon as the API server has
// answered. One whose clock is set wrong evicts nothing early. Before the first
// agreement the time of day of the start counts.
//
// A call is O(1), unless the time of day has parted. Then the pods on tainted
// nodes are decided again as after [Tracker.SuspendTaints], and ObserveDate
// reports true: what [Tracker.StartOf] has returned has changed, too.
func (t *Tracker) ObserveDate(now, sent, date time.Time) (parted bool) {
	if !t.clock.confirm(now, sent, date) {
		return false
	}
	now = t.advance(now)
	t.nodeWatch.resume(now)
	t.podWatch.resume(now)
	t.outdate(now)
	return true
}

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
	n.taints, n.effective, n.effectiveOf = dated, effective(dated, n.suspends(t.suspended)),
		t.generation
}
