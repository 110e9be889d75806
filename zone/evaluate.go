package zone

import (
	"slices"
	"strings"
	"time"
)

// An Evaluation holds what has changed since the last one.
type Evaluation struct {
	// Phase is the cluster's phase now, and From the one before. They are equal
	// when it has not changed.
	Phase, From Phase
	// Changes are the zones with a new state or rate, by name.
	Changes []Change
	// Gone are the zones that have lost their last node, by name. A zone that
	// returns starts as Initial.
	Gone []string
}

// Changed reports whether the evaluation holds anything new.
func (e Evaluation) Changed() bool {
	return e.Phase != e.From || len(e.Changes) > 0 || len(e.Gone) > 0
}

// Change is a new state or rate of a zone.
type Change struct {
	Zone     string
	From, To State
	Counts   Counts
	// Rate is how many nodes a second may be acted against from now on. It is
	// zero except in PhaseActive.
	Rate float64
}

// Evaluate evaluates the zones that were observed to change, and the cluster.
// It allocates nothing when nothing has changed.
func (t *Tracker[K]) Evaluate(now time.Time) Evaluation {
	t.advance(now)
	e := Evaluation{Phase: t.phase, From: t.phase}
	recovered := t.phase == PhaseRecovering && !t.now.Before(t.recoveryEnd)
	t.raise()
	if len(t.dirty) == 0 && !recovered && !t.windowBegan {
		return e
	}
	t.evaluateStates()
	t.phase, t.windowBegan = t.nextPhase(), false
	e.Phase = t.phase
	e.Changes = t.evaluateRates(e.Phase != e.From)
	e.Gone = t.takeGone()
	t.findRise()
	return e
}

// Stabilize begins a stabilization window now: PhaseActive becomes
// PhaseRecovering, and a window that has begun begins again. PhaseSuspended,
// PhasePaused and PhaseHolding stay. Call it when the caches are filled and
// when the caller begins to act. Evaluate must follow.
func (t *Tracker[K]) Stabilize(now time.Time) {
	t.advance(now)
	t.recoveryEnd = t.now.Add(t.config.StabilizationWindow)
	t.windowBegan = true
}

// Unconfirm records that no node could be heard from a time until now. What was
// ready then may not be any more: every ready node is unconfirmed until it is
// observed with Unconfirmed false. A stabilization window that was not over at
// that time begins again. Evaluate must follow. It costs the number of zones.
func (t *Tracker[K]) Unconfirm(now, since time.Time) {
	t.advance(now)
	if t.recoveryEnd.After(since) {
		t.Stabilize(now)
	}
	t.generation++
	for _, z := range t.zones {
		if z.counts.Ready > 0 {
			z.counts.Unconfirmed, z.counts.Ready = z.counts.Unconfirmed+z.counts.Ready, 0
			t.markDirty(z)
		}
	}
}

// Next returns when Evaluate must be called even if no node changes: at the end
// of PhaseRecovering, and when a zone's rate is held no longer.
func (t *Tracker[K]) Next(now time.Time) (time.Time, bool) {
	t.advance(now)
	if t.phase == PhaseRecovering {
		return t.recoveryEnd, true
	}
	return t.riseAt, !t.riseAt.IsZero()
}

// Phase returns the cluster's phase as it was last evaluated.
func (t *Tracker[K]) Phase() Phase { return t.phase }

// evaluateStates sets the states of the dirty zones and updates the sums. Dirty
// zones may be gone; they leave the sums.
func (t *Tracker[K]) evaluateStates() {
	for _, z := range t.dirty {
		t.best.add(z.summedCounts.atBest(), z.state, -1)
		t.worst.add(z.summedCounts.atWorst(), z.worst, -1)
		was, is := z.summedCounts.atBest(), z.counts.atBest()
		z.summedCounts = z.counts
		t.changeState(z, t.config.State(is), is.Ready > was.Ready || is.NotReady < was.NotReady)
		if z.worst = z.state; z.counts.Unconfirmed > 0 {
			z.worst = t.config.State(z.counts.atWorst())
		}
		t.best.add(z.summedCounts.atBest(), z.state, +1)
		t.worst.add(z.summedCounts.atWorst(), z.worst, +1)
	}
}

// changeState sets the state of a zone, and its rate in PhaseActive. Better
// says that more of its nodes are ready, or fewer are not. A zone that was not
// evaluated yet has had no disruption.
func (t *Tracker[K]) changeState(z *zone, state State, better bool) {
	rate := valid(t.config.Rate(state, z.counts.atBest()))
	switch {
	case !z.reported:
		z.rise = rise{rate: rate, left: t.observationWindow}
	case state == z.state:
		z.rise.rate = rate
	default:
		z.rise.follow(t.now, rate, better, t.observationWindow)
	}
	z.state = state
}

// raise has the zones evaluated whose rate is held no longer.
func (t *Tracker[K]) raise() {
	if t.riseAt.IsZero() || t.now.Before(t.riseAt) {
		return
	}
	for _, z := range t.zones {
		if !z.heldUntil.IsZero() && !t.now.Before(z.heldUntil) {
			t.markDirty(z)
		}
	}
}

// findRise finds when a rate is first held no longer.
func (t *Tracker[K]) findRise() {
	if t.riseAt.IsZero() {
		return
	}
	t.riseAt = time.Time{}
	for _, z := range t.zones {
		if at := z.heldUntil; !at.IsZero() && (t.riseAt.IsZero() || at.Before(t.riseAt)) {
			t.riseAt = at
		}
	}
}

func (t *Tracker[K]) nextPhase() Phase {
	phase := t.wantedPhase()
	if phase == PhaseSuspended || phase == PhasePaused {
		t.stopped = true
		return phase
	}
	if t.phase == PhaseSuspended || t.phase == PhasePaused {
		t.recoveryEnd = t.now.Add(t.config.StabilizationWindow)
	}
	if phase == PhaseHolding {
		return PhaseHolding
	}
	if t.now.Before(t.recoveryEnd) { // also in PhaseActive, once a window has begun
		return PhaseRecovering
	}
	t.stopped = false
	return PhaseActive
}

// wantedPhase returns the phase that the zones call for.
func (t *Tracker[K]) wantedPhase() Phase {
	atBest := t.policyPhase(t.best)
	if t.best == t.worst || atBest == PhasePaused || atBest == t.policyPhase(t.worst) {
		return atBest
	}
	return PhaseHolding
}

func (t *Tracker[K]) policyPhase(c Cluster) Phase {
	c.Stopped = t.stopped
	switch phase := t.config.Phase(c); phase {
	case PhaseActive, PhaseSuspended:
		return phase
	}
	return PhasePaused
}

// evaluateRates sets the rates of the dirty zones, or of all when the phase has
// changed. It returns the zones with a new state or rate.
func (t *Tracker[K]) evaluateRates(all bool) []Change {
	var changes []Change
	if all {
		for _, z := range t.zones {
			changes = t.evaluateRate(z, changes)
		}
	}
	for _, z := range t.dirty {
		if z.dirty = false; z.members > 0 && !all {
			changes = t.evaluateRate(z, changes)
		}
	}
	clear(t.dirty)
	t.dirty = t.dirty[:0]
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Zone, b.Zone) })
	return changes
}

// evaluateRate sets a zone's rate and appends to changes what is new about it.
func (t *Tracker[K]) evaluateRate(z *zone, changes []Change) []Change {
	rate, heldUntil := t.rateOf(z)
	if z.heldUntil = heldUntil; !heldUntil.IsZero() {
		t.riseAt = heldUntil // findRise corrects it
	}
	if z.reported && z.reportedState == z.state && rate == z.rate {
		return changes
	}
	changes = append(changes, Change{z.name, z.reportedState, z.state, z.counts, rate})
	z.rate, z.reportedState, z.reported = rate, z.state, true
	return changes
}

// rateOf returns the rate of a zone, and until when it is held. While its state
// depends on unconfirmed nodes it has none.
func (t *Tracker[K]) rateOf(z *zone) (rate float64, heldUntil time.Time) {
	if t.phase != PhaseActive || z.worst != z.state {
		return 0, time.Time{}
	}
	rate = z.rise.rate
	if z.counts.Unconfirmed > 0 {
		rate = min(rate, valid(t.config.Rate(z.state, z.counts.atWorst())))
	}
	if until, held := z.rise.held(t.now); held {
		return min(rate, z.rise.low), until
	}
	return rate, time.Time{}
}

// valid returns a rate, and zero for an invalid one. NaN would be a change in
// each evaluation.
func valid(rate float64) float64 {
	if !(rate >= 0) {
		return 0
	}
	return rate
}

// takeGone returns the zones that vanished and have not returned since.
func (t *Tracker[K]) takeGone() []string {
	var gone []string
	for _, name := range t.gone {
		if _, back := t.zones[name]; !back {
			gone = append(gone, name)
		}
	}
	t.gone = nil
	slices.Sort(gone)
	return gone
}
