package invariant

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// bearing is whether a zone is partially disrupted.
type bearing int

const (
	bearsWell bearing = iota
	// bearsDoubtful: it depends on doubtful nodes.
	bearsDoubtful
	bearsDisrupted
)

// bearing returns that of a zone. One that is down bears as if it were disrupted:
// its disruption is not over when its last node falls.
func (s *Settings) bearing(z *counts) bearing {
	disrupted := 0
	for silent := 0; silent <= z.doubtful; silent++ {
		ready, notReady := z.ready+z.doubtful-silent, z.notReady+silent
		if s.disrupted(ready, notReady) || ready == 0 && notReady >= someNotReady {
			disrupted++
		}
	}
	switch disrupted {
	case 0:
		return bearsWell
	case z.doubtful + 1:
		return bearsDisrupted
	}
	return bearsDoubtful
}

// recovery is how long a client keeps the rate of a disruption that has ended:
// one wave of expiries, in which the zone has to be well. Time in which it is
// not does not count. The next disruption is kept again only after the zone was
// well for another wave. What a client sees of a zone with doubtful nodes is
// not known, so there are two of everything.
type recovery struct {
	known bool
	now   bearing
	// mayFrom is since when the zone may be well, wellFrom since when it is.
	mayFrom, wellFrom time.Duration
	// least and most are how long the next end of a disruption is kept. Where the
	// zone was well for two waves it is a whole one, from armedTo on.
	least, most time.Duration
	armed       bool
	armedTo     time.Duration
	// leastUntil and mostUntil are until when the last one is kept.
	leastUntil, mostUntil time.Duration
}

func (r *recovery) follow(at time.Duration, now bearing, wave time.Duration) {
	if !r.known {
		*r = recovery{known: true, now: now, mayFrom: at, wellFrom: at, least: wave, most: wave}
		return
	}
	before := r.now
	if now == before {
		return
	}
	r.now = now
	switch before {
	case bearsDisrupted:
		r.mayFrom, r.leastUntil = at, at+r.least
	case bearsWell:
		well := at - r.wellFrom
		r.most = max(r.most-well, 0)
		if well >= 2*wave+idlePeriod {
			r.armed, r.armedTo = true, at
		}
	case bearsDoubtful:
	}
	if at-r.mayFrom >= wave {
		r.most = wave
	}
	switch now {
	case bearsWell:
		r.wellFrom, r.mostUntil = at, at+r.most
	case bearsDisrupted:
		if r.armed {
			r.least, r.armed = wave-(at-r.armedTo), false
		} else {
			r.least -= at - r.mayFrom + idlePeriod
		}
		r.least = max(r.least, 0)
	case bearsDoubtful:
	}
}

// followRecoveries records how disrupted the zones are.
func (v *view) followRecoveries(at time.Duration) {
	s := &v.judge.settings
	for key, z := range v.zones {
		z.recovery.follow(at, s.bearing(v.census.zones[key]), s.wave())
	}
}

// endRecoveries raises the rates of the zones that every client raises by now.
func (v *view) endRecoveries(now time.Duration) {
	for v.raisesAt >= 0 && v.raisesAt <= now {
		v.setRates(v.raisesAt)
	}
}

// disruptionOf is the last time in which a zone was partially disrupted, and
// the highest rate that it had in it.
type disruptionOf struct {
	stretch
	rate float64
}

// followDisruption records when a zone was partially disrupted, by what the API
// server has stored.
func (j *Judge) followDisruption(now time.Duration, key zoneKey) {
	z := j.census.zones[key]
	if z == nil {
		delete(j.disruptions, key)
		return
	}
	d := j.disruptions[key]
	if d == nil {
		d = &disruptionOf{}
		j.disruptions[key] = d
	}
	disrupted := j.settings.disrupted(z.ready, z.notReady)
	switch {
	case disrupted && !d.ongoing:
		*d = disruptionOf{stretch: stretch{from: now, ongoing: true, ever: true}}
	case !disrupted && d.ongoing:
		d.to, d.ongoing = now, false
	}
	if disrupted {
		d.rate = max(d.rate, j.settings.disruptedRate(z.size()))
	}
}

// judgeReturn judges the taint of a node that is back. One that returns to a
// zone whose disruption has just ended may have returned with the nodes that
// ended it, and must have the time to be heard.
func (j *Judge) judgeReturn(s *sent, n *seenNode) {
	truth := j.nodes[n.name]
	if !truth.returns() {
		return
	}
	d, r := j.disruptions[truth.citizen.zone], &n.zone.recovery
	slack := j.settings.bound() + idlePeriod
	if d == nil || !d.ever || d.ongoing || d.to-d.from < slack {
		return
	}
	if since, calm := j.subject.Calm(); !calm || max(since, s.view.syncedAt) > d.from {
		return
	}
	if d.rate > 0 {
		return // it is kept, and nodes are tainted as in the disruption
	}
	if r.now == bearsDisrupted || r.mayFrom > d.to+slack {
		return // by what the client sees another one has ended
	}
	if until := min(r.leastUntil, d.to+j.settings.wave()) - idlePeriod; s.at < until {
		j.violated(SparedOnReturn, n.name,
			"%s taints node %s, which is back and was not heard yet, at %v: the disruption of its zone %s has ended at %v, "+
				"and each node that is back is heard by %v", s.view.client.Name, n.name, s.at, n.zone.key, d.to, until)
	}
}

// returns reports whether the node reaches the API server, and was not heard
// yet since it is Unknown.
func (n *node) returns() bool {
	m := n.machine
	return m != nil && m.Reaches() && n.ready == corev1.ConditionUnknown && m.LastBeat <= n.readySince
}
