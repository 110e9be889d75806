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
	suspended
)

// disruption is how disrupted the zones are, as a client sees them.
type disruption struct {
	census census
	phase  phase
	// until is when settling ends, downFrom when the suspension began, actedTo when
	// acting ended.
	until, downFrom, actedTo time.Duration
	// held says that the timers of our own taints stand still, from heldFrom to heldTo:
	// from the beginning of a suspension until it acts again.
	held             bool
	heldFrom, heldTo time.Duration
	// before is what was before the suspension.
	before *disruption
	// lower says that some zone's rate is to be lower as soon as the client is free:
	// when a call is answered, at freeAt, and no other follows in the same moment. One
	// who reads before he writes is not free in between.
	lower  bool
	freeAt time.Duration
	// dirty says that nodes have changed since the zones were judged, at dirtyAt.
	dirty   bool
	dirtyAt time.Duration
}

func (d *disruption) settle(now, grace time.Duration) {
	d.phase, d.until, d.actedTo, d.heldTo = settling, now+grace, -1, -1
}

// stabilize begins a grace period in which no node is tainted: the lists are in,
// or the process begins to act.
func (v *view) stabilize(now time.Duration) {
	v.catchUp(now)
	if v.phase == suspended {
		return
	}
	if v.phase == acting {
		v.actedTo = now
	}
	v.phase, v.until = settling, now+v.judge.settings.Grace
	v.setRates(now)
}

// lastActed returns the last time at which nodes could be tainted.
func (d *disruption) lastActed(now time.Duration) time.Duration {
	if d.phase == acting {
		return now
	}
	return d.actedTo
}

func (v *view) soil(now time.Duration) { v.dirty, v.dirtyAt = true, now }

// catchUp judges what was before this moment. Of what happens in one moment only
// the end counts: a list changes many nodes at once.
func (v *view) catchUp(now time.Duration) {
	if v.dirty && v.dirtyAt < now {
		v.judgeStates(v.dirtyAt)
	}
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
	if v.synced && v.phase == settling && v.until <= now {
		v.phase = acting
		if v.held {
			v.held, v.heldTo = false, v.until
		}
		v.setRates(max(v.until, v.syncedAt))
	}
}

func (v *view) judgeStates(at time.Duration) {
	if !v.synced {
		return
	}
	v.dirty = false
	switch down := v.census.allDown(); {
	case down && v.phase != suspended:
		v.suspend(at)
	case !down && v.phase == suspended:
		v.resume(at)
	}
	v.setRates(at)
}

func (v *view) suspend(at time.Duration) {
	before := v.disruption
	before.before = nil
	v.before = &before
	if v.phase == acting {
		v.actedTo = at
	}
	v.phase, v.downFrom = suspended, at
	if !v.held {
		v.held, v.heldFrom = true, at
	}
	for _, n := range v.nodes {
		n.illness.emptied = false
	}
}

// resume ends a suspension. A process that does not lead looks only now and then,
// and may not have noticed a short one.
func (v *view) resume(at time.Duration) {
	if !v.leads && at-v.downFrom <= idlePeriod {
		b := v.before
		v.phase, v.until, v.actedTo, v.held, v.heldFrom = b.phase, b.until, b.actedTo, b.held, b.heldFrom
		return
	}
	v.phase, v.until = settling, at+v.judge.settings.Grace
}

// seenZone is a zone as a client sees it.
type seenZone struct {
	key zoneKey
	// waiting are the nodes that are to get our NoExecute taint, by when they fell.
	waiting []*seenNode
	// known is when the extent of its last wave of expiries is known.
	known time.Duration
	rates []period
	// used says that a token was used, spent when the last one was, at the earliest, as
	// the sum of the rate over time until then. Last is what that sum was when the call
	// was sent.
	used        bool
	spent, last float64
	// emptied is what that sum was, at the earliest, when nodes were released to be
	// emptied, with Settings.ByNode.
	emptied []float64
}

// fall takes note of a node that has fallen, and returns when the extent of what it
// has fallen with is known: one wave after the first of them.
func (z *seenZone) fall(now, wave time.Duration) time.Duration {
	if now >= z.known {
		z.known = now + wave
	}
	return z.known
}

// period is a time with one rate, up to the next one. Sum is that of the rate over
// time until its beginning.
type period struct {
	from time.Duration
	sum  float64
	rate float64
}

// remember is how long rates are kept: longer than a process may stand still between a
// decision and its call, and than pods may wait for what they need beside a node's
// release.
const remember = time.Hour

// setRates gives the zones the rates of their states. While a process has no call to
// spare it hands out nothing, and need not slow down what it does not do: then a
// lower rate may wait until it is free.
func (v *view) setRates(at time.Duration) {
	v.lower = false
	for key, z := range v.zones {
		rate := 0.0
		if v.phase == acting {
			rate = v.judge.settings.rate(v.census.zones[key])
		}
		if v.full() && rate < z.rates[len(z.rates)-1].rate {
			v.lower = true
			continue
		}
		z.setRate(at, rate)
	}
}

func (z *seenZone) setRate(at time.Duration, rate float64) {
	if last := &z.rates[len(z.rates)-1]; last.rate != rate {
		z.rates = append(z.rates, period{at, z.sum(at), rate})
	}
	for len(z.rates) > 1 && z.rates[1].from < at-remember {
		z.rates = z.rates[1:]
	}
}

// sum returns the sum of the rate over time until then.
func (z *seenZone) sum(at time.Duration) float64 {
	i := len(z.rates) - 1
	for i > 0 && z.rates[i].from > at {
		i--
	}
	p := &z.rates[i]
	return p.sum + p.rate*max(at-p.from, 0).Seconds()
}

// open reports whether the rate was above zero at some time from one moment to
// another.
func (z *seenZone) open(from, to time.Duration) bool {
	for i := range z.rates {
		ends := never
		if i+1 < len(z.rates) {
			ends = z.rates[i+1].from
		}
		if z.rates[i].rate > 0 && z.rates[i].from <= to && ends >= from {
			return true
		}
	}
	return false
}

// almost forgives what is lost by rounding.
const almost = 1e-3

// spend uses a token at some time from one moment to another, and reports whether
// there was one: tokens are used at least one apart, in the order of the calls.
func (z *seenZone) spend(from, to time.Duration) bool {
	at := z.sum(from)
	if z.used {
		at = max(at, z.spent+1)
	}
	z.used, z.spent, z.last = true, at, z.sum(to)
	return at <= z.last+almost
}

// idleSince reports whether a token was there all the time since a moment, at the
// same rate. Before the calm one may have been used without a call: who fears that it
// does not lead any more sends none.
func (z *seenZone) idleSince(from, calm time.Duration) bool {
	last := &z.rates[len(z.rates)-1]
	if last.rate <= 0 || last.from > from {
		return false
	}
	used := z.sum(calm)
	if z.used {
		used = max(used, z.last)
	}
	return z.sum(from)-used >= 1
}

// observeZone keeps the zones' counts.
func (v *view) observeZone(now time.Duration, n *seenNode, one citizen, fresh bool) {
	falls := !one.ready && (fresh || n.citizen.ready)
	if falls {
		n.fell = now
	}
	if !fresh && n.citizen == one {
		return
	}
	former := n.zone
	moves := fresh || n.citizen.zone != one.zone
	if moves {
		v.stopWaiting(n)
	}
	if v.census.count(one, +1) {
		v.zones[one.zone] = &seenZone{key: one.zone, rates: []period{{from: now}}}
	}
	if !fresh {
		v.leaveZone(n)
	}
	n.citizen, n.zone = one, v.zones[one.zone]
	if falls {
		n.known = n.zone.fall(now, v.judge.settings.wave())
	}
	if !fresh && moves {
		n.movedAt, n.formerZone = now, former
	}
	v.soil(now)
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
