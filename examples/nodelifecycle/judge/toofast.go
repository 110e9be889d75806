package judge

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

const (
	// WithinRate: the nodes of a zone that get our NoExecute taint, or are
	// emptied, fit the highest rate that the zone's state can have allowed.
	// [Z1, Q10]
	WithinRate Invariant = "within the rate"
	// WithinBudget: the attempts to make pods leave that have succeeded or failed
	// fit each budget. [E8, Q10]
	WithinBudget Invariant = "within the budget"
)

// The attempts of budgets are judged when they end, see attempted.
var tooFast = rules{turn: []func(*sent, *node){withinRate}}

// turns are those that nodes of a zone had by one process: used is when a call
// was sent last that was to do so.
type turns struct {
	acts acts
	used time.Duration
}

func (p *process) turnsIn(zone zoneKey) *turns {
	if p.turns[zone] == nil {
		p.turns[zone] = &turns{used: -1}
	}
	return p.turns[zone]
}

// Nodes of a zone have their turn one after the other, by the rate of the zone.
func withinRate(s *sent, n *node) {
	p := s.process
	turns := p.turnsIn(n.zone)
	turns.used = s.at
	from, sure := s.turnFrom(n)
	cached := model.CachedNode(p.client, n.name)
	if !sure || n.moved >= s.after-s.settings.lag() || cached == nil || zoneOf(cached) != n.zone ||
		s.node != nil && illnessOf(cached, executes) != nil {
		return
	}
	highest := func(from, to time.Duration) float64 { return s.highest(p, n.zone, from, to) }
	switch rate := highest(from, s.at); {
	case rate == 0:
		s.accuse(WithinRate, "node %s has its turn, and the rate of its zone %s is 0", n.name, n.zone)
	case !turns.acts.fit(span{from, s.at}, 1, highest):
		s.accuse(WithinRate, "node %s has its turn, and its zone %s has no more than %v a second", n.name, n.zone, rate)
	}
}

// highest returns the highest rate that a zone can have had for a process at any
// time from one moment to another. To one that may not have known its state, that
// is whatever its size allows.
func (j *Judge) highest(p *process, zone zoneKey, from, to time.Duration) float64 {
	z, lag := j.cluster.zone(zone), j.settings.lag()
	if informed := j.informed(p); informed == never || informed > from-lag {
		return z.most
	}
	return z.highest(from-lag, to)
}

// span is a time in which something happened at some moment.
type span struct{ from, to time.Duration }

// acts are times in which tokens were used, by their beginning.
type acts []span

// manyActs is how many are remembered.
const manyActs = 200

// fit adds one, and reports whether there can have been a token for each: between
// any two moments no more were used than came in at the highest rate of that time,
// and the burst that may have been there.
func (a *acts) fit(one span, burst float64, rate func(from, to time.Duration) float64) bool {
	i, _ := slices.BinarySearchFunc(*a, one, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	*a = slices.Insert(*a, i, one)
	if len(*a) > manyActs {
		*a = slices.Delete(*a, 0, 1)
	}
	last := one.to
	for _, act := range *a {
		last = max(last, act.to)
	}
	for i, first := range *a {
		most := burst + rate(first.from, last)*(last-first.from).Seconds()
		if first.from <= one.from && float64(len(*a)-i) > most+almost {
			return false
		}
	}
	return true
}
