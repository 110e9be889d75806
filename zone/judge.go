package zone

import (
	"slices"
	"strings"
	"time"
)

// Phase is what the cluster as a whole allows; see the package comment.
type Phase string

const (
	// Acting: nodes may be acted against, at the rate of their zone.
	Acting Phase = "Acting"
	// Suspended: every zone is fully disrupted. Nothing is done against any node,
	// and what was done by us is taken back.
	Suspended Phase = "Suspended"
	// Settling: a suspension has ended, or the tracker has started, less than a
	// grace period ago. Nothing is done against any node yet, whatever its stored
	// condition says, since it may not have had the time to report.
	Settling Phase = "Settling"
)

// A Judgement is what has changed since the last one.
type Judgement struct {
	// Phase of the cluster now, and From which it came. They are equal when it has
	// not changed.
	Phase, From Phase
	// Changes are the zones with a new state or rate, by name.
	Changes []Change
	// Gone are the zones that have no node any more, by name. A zone that comes
	// back starts as Initial.
	Gone []string
}

// Changed reports whether the judgement says anything new.
func (j Judgement) Changed() bool {
	return j.Phase != j.From || len(j.Changes) > 0 || len(j.Gone) > 0
}

// Change is a zone that got another state or rate.
type Change struct {
	Zone     string
	From, To State
	Counts   Counts
	// Rate is how many nodes a second may be acted against from now on. It is zero
	// unless the cluster is Acting.
	Rate float64
}

// Judge judges the zones that were observed to change, and the cluster. It
// allocates nothing when nothing has changed.
func (t *Tracker[K]) Judge(now time.Time) Judgement {
	t.advance(now)
	j := Judgement{Phase: t.phase, From: t.phase}
	if settled := t.phase == Settling && !t.now.Before(t.resume); len(t.dirty) == 0 && !settled {
		return j
	}
	t.judgeStates()
	t.phase = t.judgePhase()
	j.Phase = t.phase
	j.Changes = t.judgeRates(j.Phase != j.From)
	j.Gone = t.takeGone()
	return j
}

// Next returns when Judge has to be called even if no node is observed to
// change: at the end of settling.
func (t *Tracker[K]) Next() (time.Time, bool) {
	return t.resume, t.phase == Settling
}

// Phase returns the cluster's phase as it was last judged.
func (t *Tracker[K]) Phase() Phase { return t.phase }

// judgeStates gives the dirty zones their states. One that is gone is as good as
// any: nobody is told about it here.
func (t *Tracker[K]) judgeStates() {
	for _, z := range t.dirty {
		z.state = t.config.State(z.counts)
	}
}

func (t *Tracker[K]) judgePhase() Phase {
	if t.allFullyDisrupted() {
		return Suspended
	}
	if t.phase == Suspended {
		t.resume = t.now.Add(t.config.Grace)
		return Settling
	}
	if t.phase == Settling && t.now.Before(t.resume) {
		return Settling
	}
	return Acting
}

// allFullyDisrupted looks at the zones in which nodes count. Having none of them
// is not a disruption.
func (t *Tracker[K]) allFullyDisrupted() bool {
	some := false
	for _, z := range t.zones {
		if z.counts.Size() == 0 {
			continue
		}
		if z.state != FullDisruption {
			return false
		}
		some = true
	}
	return some
}

// judgeRates gives zones their rates: the dirty ones, or all of them when the
// phase has changed. It returns the ones with a new state or rate.
func (t *Tracker[K]) judgeRates(all bool) []Change {
	var changes []Change
	if all {
		for _, z := range t.zones {
			changes = t.judgeRate(z, changes)
		}
	}
	for _, z := range t.dirty {
		if z.dirty = false; z.members > 0 && !all {
			changes = t.judgeRate(z, changes)
		}
	}
	clear(t.dirty)
	t.dirty = t.dirty[:0]
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Zone, b.Zone) })
	return changes
}

// judgeRate appends to changes what is new about a zone.
func (t *Tracker[K]) judgeRate(z *zone, changes []Change) []Change {
	rate := 0.0
	if t.phase == Acting {
		rate = t.config.Rate(z.state, z.counts)
	}
	if z.told && z.before == z.state && rate == z.rate {
		return changes
	}
	changes = append(changes, Change{z.name, z.before, z.state, z.counts, rate})
	z.rate, z.before, z.told = rate, z.state, true
	return changes
}

// takeGone returns the zones that vanished and have not come back since.
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
