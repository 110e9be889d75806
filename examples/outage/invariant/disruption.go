package invariant

import (
	"slices"
	"time"
)

// phase is what the cluster as a whole allows.
type phase int

const (
	settling phase = iota
	acting
	suspended // or paused
)

// disruption is what the disruption of all zones means for a client. There are
// two of them: what it must know forbids, what it may believe excuses.
type disruption struct {
	phase phase
	// until is when settling ends, downFrom when the suspension began, actedTo
	// when acting ended.
	until, downFrom, actedTo time.Duration
	// held says that the timers of our own taints stand still, from heldFrom to
	// heldTo: from the beginning of a suspension until it acts again.
	held             bool
	heldFrom, heldTo time.Duration
	// down says that all zones are down, outage that they were in the hold.
	down, outage bool
	// stopped says that it has not acted since the start or a suspension.
	stopped bool
	// before is what was before the suspension.
	before *disruption
}

func (d *disruption) settle(now, window time.Duration) {
	d.phase, d.until, d.actedTo, d.heldTo, d.stopped = settling, now+window, -1, -1, true
}

// stabilize begins a window in which no node is tainted: the lists are in,
// or the process begins to act.
func (v *view) stabilize(now time.Duration) { v.stabilizeSince(now, -1) }

// stabilizeSince does that where such a window was not over at a time.
func (v *view) stabilizeSince(now, since time.Duration) {
	v.catchUp(now)
	for _, d := range v.disruptions() {
		if d.phase == settling || d.until > since {
			d.stabilize(now, v.judge.settings.Window)
		}
	}
	v.setRates(now)
}

func (d *disruption) stabilize(now, window time.Duration) {
	if d.phase == suspended {
		return
	}
	if d.phase == acting {
		d.actedTo = now
	}
	d.phase, d.until = settling, now+window
}

func (v *view) disruptions() []*disruption { return []*disruption{&v.forbids, &v.excuses} }

// lastActed returns the last time at which nodes could be tainted.
func (d *disruption) lastActed(now time.Duration) time.Duration {
	if d.phase == acting {
		return now
	}
	return d.actedTo
}

func (v *view) soil(now time.Duration) { v.dirty, v.dirtyAt = true, now }

// catchUp judges what was before this moment. Of what happens in one moment
// only the end counts: a list changes many nodes at once.
func (v *view) catchUp(now time.Duration) {
	if v.dirty && v.dirtyAt < now {
		v.endRecoveries(v.dirtyAt)
		v.judgeStates(v.dirtyAt)
	}
	v.endRecoveries(now)
	if v.lower && !v.full() && v.freeAt < now {
		v.setRates(v.freeAt)
	}
	v.endSettling(now)
}

// judgeZones judges all that is up to and including this moment.
func (v *view) judgeZones(now time.Duration) {
	v.catchUp(now)
	if v.dirty {
		v.judgeStates(now)
	}
}

func (v *view) endSettling(now time.Duration) {
	for _, d := range v.disruptions() {
		if !v.synced || d.phase != settling || d.until > now {
			continue
		}
		d.phase, d.stopped = acting, false
		if d.held {
			d.held, d.heldTo = false, d.until
		}
		v.setRates(max(d.until, v.syncedAt))
	}
}

func (v *view) judgeStates(at time.Duration) {
	if !v.synced {
		return
	}
	v.dirty = false
	c, s := &v.census, &v.judge.settings
	if v.forbids.follow(v, at, c.allDown(), s.pauses(c, c.dead, c.ready+c.doubtful, v.forbids.stopped)) {
		for _, n := range v.nodes {
			n.illness.emptied = false
		}
	}
	v.excuses.follow(v, at, c.allMayBeDown(), s.pauses(c, c.doomed, c.ready, v.excuses.stopped))
	v.followRecoveries(at)
	v.setRates(at)
}

// follow begins or ends a suspension or a pause, and reports whether an outage
// of all zones has begun.
func (d *disruption) follow(v *view, at time.Duration, down, paused bool) bool {
	begins := down && !d.down
	switch stops := down || paused; {
	case stops && d.phase != suspended:
		d.suspend(at)
	case !stops && d.phase == suspended:
		d.resume(v, at)
	}
	d.down, d.outage = down, d.outage || down
	return begins
}

func (d *disruption) suspend(at time.Duration) {
	before := *d
	before.before = nil
	d.before = &before
	if d.phase == acting {
		d.actedTo = at
	}
	d.phase, d.downFrom = suspended, at
	d.stopped = true
	if !d.held {
		d.held, d.heldFrom, d.outage = true, at, false
	}
}

// resume ends a suspension. A process that does not lead looks only now and
// then, and may not have noticed a short one.
func (d *disruption) resume(v *view, at time.Duration) {
	if !v.leads && at-d.downFrom <= idlePeriod {
		b := d.before
		d.phase, d.until, d.actedTo, d.held, d.heldFrom = b.phase, b.until, b.actedTo, b.held, b.heldFrom
		d.stopped = b.stopped
		return
	}
	d.phase, d.until = settling, at+v.judge.settings.Window
}

// seenZone is a zone as a client sees it.
type seenZone struct {
	key zoneKey
	// waiting are the nodes that are to get our NoExecute taint, by when they
	// fell.
	waiting []*seenNode
	// falls are when its nodes fell, the first one with a wave of its own.
	falls []time.Duration
	// vague counts the nodes for which it cannot be said when they are found
	// silent, and unsure is until when that means something for others.
	vague  int
	unsure time.Duration
	// high and low are the highest and the lowest rate that it may have had.
	high, low rates
	recovery  recovery
	// used says that a token was used. spent is when the last one was, at the
	// earliest, as the sum of the high rate over time until then. last is the sum
	// of the low rate when the call was sent.
	used        bool
	spent, last float64
	// emptied is what the sum of the high rate was, at the earliest, when nodes
	// were released to be emptied, with Settings.ByNode.
	emptied []float64
}

func newSeenZone(key zoneKey, now time.Duration) *seenZone {
	return &seenZone{key: key, high: rates{{from: now}}, low: rates{{from: now}}}
}

// fall records a node that has fallen. It may be told of a later one
// first.
func (z *seenZone) fall(at, wave time.Duration) {
	switch n := len(z.falls); {
	case n > 0 && at >= z.falls[n-1]+2*wave:
		z.falls = z.falls[:0]
	case n == manyFalls:
		z.falls = slices.Delete(z.falls, 0, n/2)
		z.unsure = max(z.unsure, z.falls[0]+wave)
	}
	i, _ := slices.BinarySearch(z.falls, at)
	z.falls = slices.Insert(z.falls, i, at)
}

// manyFalls bounds how many are remembered. Where those that are forgotten
// began their waves is unknown, so for one wave after them each fall may begin
// one.
const manyFalls = 10_000

// known returns the earliest time at which the extent of a node's disruption
// may be known: one wave after the first fall. The next one after a wave begins
// another. A client that is busy notices a fall a moment later. So it cannot be
// said to which wave a fall at its end belongs.
func (z *seenZone) known(fell, wave time.Duration) time.Duration {
	var waves []time.Duration // that may go on, by their beginning
	for _, at := range z.falls {
		if at > fell {
			break
		}
		// It begins one if it may be the first after one that may have gone on so
		// far.
		begins := len(waves) == 0 || at >= waves[0]+wave-moment || at < z.unsure
		waves = slices.DeleteFunc(waves, func(began time.Duration) bool { return at >= began+wave+moment })
		if begins {
			waves = append(waves, at)
		}
	}
	if len(waves) == 0 {
		return fell
	}
	return waves[0] + wave
}

// known returns the earliest time at which a client may act against a node that
// has fallen.
func (v *view) known(n *seenNode) time.Duration {
	if n.fellIn == nil || n.fellIn.vague > 0 || n.fell < n.fellIn.unsure {
		return n.fell
	}
	return n.fellIn.known(n.fell, v.judge.settings.wave())
}

// moment is how long a client takes to notice what it was shown.
const moment = 100 * time.Millisecond

// rates are the rates of a zone over time.
type rates []period

// period is a time with one rate, up to the next one. Sum is that of the rate
// over time until its beginning.
type period struct {
	from time.Duration
	sum  float64
	rate float64
}

// remember is how long rates are kept. It is longer than a process may stand
// still between a decision and its call. It is longer than pods may wait for
// what they need besides a node's release.
const remember = time.Hour

// setRates gives the zones the rates of their states. A process that can send
// no further call hands out nothing, and need not slow down what it does not
// do. Then a lower rate may wait until it is free.
func (v *view) setRates(at time.Duration) {
	v.lower, v.raisesAt = false, -1
	s := &v.judge.settings
	for key, z := range v.zones {
		counts := v.census.zones[key]
		highest, lowest := s.rates(counts)
		if until := z.recovery.mostUntil; at < until {
			lowest = min(lowest, s.disruptedRate(counts.size()))
			if v.raisesAt < 0 || until < v.raisesAt {
				v.raisesAt = until
			}
		}
		if v.forbids.phase != acting {
			highest = 0
		}
		if v.excuses.phase != acting {
			lowest = 0
		}
		z.low.set(at, lowest)
		if v.full() && highest < z.high.now() {
			v.lower = true
			continue
		}
		if highest < z.high.now() {
			z.high.set(v.lowers(at), highest)
			continue
		}
		z.high.set(at, highest)
	}
}

// lowers returns when a client lowers a rate that is to be lower from some time
// on. It does when it is free, or when it looks at the zones because it does
// not lead.
func (v *view) lowers(at time.Duration) time.Duration {
	at = max(at, v.busy)
	if !v.leads {
		at += idlePeriod
	}
	return at
}

func (r rates) now() float64 { return r[len(r)-1].rate }

func (r *rates) set(at time.Duration, rate float64) {
	if r.now() != rate {
		at = max(at, (*r)[len(*r)-1].from)
		*r = append(*r, period{at, r.sum(at), rate})
	}
	for len(*r) > 1 && (*r)[1].from < at-remember {
		*r = (*r)[1:]
	}
}

// sum returns the sum of the rate over time until then.
func (r rates) sum(at time.Duration) float64 {
	i := len(r) - 1
	for i > 0 && r[i].from > at {
		i--
	}
	p := &r[i]
	return p.sum + p.rate*max(at-p.from, 0).Seconds()
}

// open reports whether the rate was above zero at some time from one moment to
// another.
func (r rates) open(from, to time.Duration) bool {
	for i := range r {
		ends := never
		if i+1 < len(r) {
			ends = r[i+1].from
		}
		if r[i].rate > 0 && r[i].from <= to && ends >= from {
			return true
		}
	}
	return false
}

// almost forgives what is lost by rounding.
const almost = 1e-3

// spend uses a token at some time from one moment to another, and reports
// whether there was one. Tokens are used at least one apart, in the order of
// the calls.
func (z *seenZone) spend(from, to time.Duration) bool {
	at := z.high.sum(from)
	if z.used {
		at = max(at, z.spent+1)
	}
	z.used, z.spent, z.last = true, at, z.low.sum(to)
	return at <= z.high.sum(to)+almost
}

// idleSince reports whether a token was there all the time since a moment, at
// the same rate. Before the calm one may have been used without a call: a
// client that may have lost its lease sends none.
func (z *seenZone) idleSince(from, calm time.Duration) bool {
	last := &z.low[len(z.low)-1]
	if last.rate <= 0 || last.from > from {
		return false
	}
	used := z.low.sum(calm)
	if z.used {
		used = max(used, z.last)
	}
	return z.low.sum(from)-used >= 1
}

// observeZone keeps the zones' counts. Fell is when the node has fallen, -1 if
// it may be ready.
func (v *view) observeZone(now time.Duration, n *seenNode, one citizen, fresh bool, fell time.Duration) {
	falls := fell >= 0 && (fresh || !n.fallen)
	if falls {
		now = min(now, max(fell, v.listenedAt)) // since then a client may know
	}
	v.catchUp(now)
	if v.dirty && v.dirtyAt > now {
		v.judgeStates(v.dirtyAt) // what has changed then is not to count from now on
	}
	v.clarify(now, n, one)
	if n.fallen = fell >= 0; falls {
		n.fell = fell
	}
	if !fresh && n.citizen == one {
		return
	}
	v.joinZone(now, n, one, fresh)
	if falls {
		v.noteFall(now, n)
	}
	v.soil(now)
}

// joinZone counts a node in the zone that it is in now.
func (v *view) joinZone(now time.Duration, n *seenNode, one citizen, fresh bool) {
	former := n.zone
	moves := fresh || n.citizen.zone != one.zone
	if moves {
		v.stopWaiting(n)
	}
	if v.census.count(one, +1) {
		v.zones[one.zone] = newSeenZone(one.zone, now)
	}
	if !fresh {
		v.leaveZone(n)
	}
	n.citizen, n.zone = one, v.zones[one.zone]
	if !fresh && moves {
		n.movedAt, n.formerZone = now, former
	}
}

// noteFall counts a node that has fallen among those of its zone.
func (v *view) noteFall(now time.Duration, n *seenNode) {
	s := &v.judge.settings
	n.fellIn = n.zone
	n.fellIn.fall(n.fell, s.wave())
	n.guessed = !v.leads || v.full() || v.busy >= n.fell || v.stoodStill(n.fell-s.Grace) ||
		v.deaf(n.fell-s.Grace-2*s.BlindAfter, now) > 0 ||
		v.unansweredUntil > n.fell-s.Grace-2*s.BlindAfter
	if n.guessed {
		n.vague = true
		n.zone.vague++
	}
}

// heardAPI notes that a client has heard a heartbeat of any node, or was
// answered a write that it had sent at a time. One that hears nothing for long
// cannot tell that from an outage: what the client finds silent, it finds later. A
// window in which nodes could show that they live begins again, if it was not
// over before. The clock of a machine that is suspended stands still.
func (v *view) heardAPI(at, sent time.Duration) {
	lost := max(v.heardAt, v.started)
	if at <= lost {
		return
	}
	v.heardAt = at
	limit := v.judge.settings.BlindAfter
	if limit == 0 || sent-lost-v.client.SuspendedFor(lost, sent) <= limit {
		return
	}
	v.unansweredUntil = v.judge.world.Elapsed()
	v.stabilizeSince(v.unansweredUntil, lost)
}

// stoodStill reports whether the client stood still at some time since a
// moment. What measures its durations may have, too, so it may find a node
// silent later.
func (v *view) stoodStill(since time.Duration) bool {
	return v.client.Paused() || v.resumedAt > 0 && v.resumedAt >= since
}

// clarify ends that it cannot be said when a node is found silent. That was so
// after deafness, while the client was busy or stood still, or before it led.
// Now the node was found silent, or was heard.
func (v *view) clarify(now time.Duration, n *seenNode, one citizen) {
	if !n.vague || one.stands == standsDoubtful {
		return
	}
	n.vague = false
	n.fellIn.vague--
	wave := v.judge.settings.wave()
	n.fellIn.unsure = max(n.fellIn.unsure, now+wave)
	n.fellIn.fall(now, wave) // a wave may begin as late as that
}

// leaveZone takes a node out of its zone's counts.
func (v *view) leaveZone(n *seenNode) {
	if v.census.count(n.citizen, -1) {
		delete(v.zones, n.citizen.zone)
	}
}

// observeWaiting keeps which nodes wait for our NoExecute taint.
func (v *view) observeWaiting(now time.Duration, n *seenNode) {
	waits := saidIll(n.object) && !slices.ContainsFunc(n.taints, func(t seenTaint) bool { return illness(t.key) })
	switch {
	case waits == n.waits:
	case !waits:
		v.stopWaiting(n)
	default:
		n.waits, n.waitsFrom = true, now
		place := len(n.zone.waiting)
		for place > 0 && n.zone.waiting[place-1].fell > n.fell {
			place--
		}
		n.zone.waiting = slices.Insert(n.zone.waiting, place, n)
	}
}

func (v *view) stopWaiting(n *seenNode) {
	if !n.waits {
		return
	}
	n.waits = false
	if i := slices.Index(n.zone.waiting, n); i >= 0 {
		n.zone.waiting = slices.Delete(n.zone.waiting, i, i+1)
	}
}
