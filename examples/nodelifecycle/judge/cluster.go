package judge

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// cluster is since when something is so that concerns all nodes, and what each
// zone is like. It follows from what is stored and which machines have beaten.
type cluster struct {
	zones map[zoneKey]*zone
	// outage: all zones are said to be down. Paused: they are by what every process
	// must know, or a flag asks for a pause.
	outage, paused stretch
	// maybeOutage: all zones may be down. Doubt: that, or a flag may ask for a pause.
	maybeOutage, doubt stretch
	moved              time.Duration // a node to another zone
}

// stretch is the last time in which something was so.
type stretch struct {
	from, to      time.Duration
	ongoing, ever bool
}

func (s *stretch) follow(now time.Duration, holds bool) {
	switch {
	case holds && !s.ongoing:
		*s = stretch{from: now, ongoing: true, ever: true}
	case !holds && s.ongoing:
		s.to, s.ongoing = now, false
	}
}

// look finds out how things are now.
func (j *Judge) look(now time.Duration) {
	zones := make(map[zoneKey]*counts)
	for _, n := range j.inOrder {
		if n.object == nil {
			continue
		}
		if zones[n.zone] == nil {
			zones[n.zone] = &counts{}
		}
		j.count(n, zones[n.zone], now)
		n.look(j, now)
	}
	j.judgeCluster(zones, now)
	for key, counted := range zones {
		highest, lowest := j.settings.rates(counted)
		z := j.cluster.zone(key)
		z.most = max(z.most, highest, j.settings.Rate, j.settings.ZoneShare*float64(counted.size()))
		z.set(rates{now, highest, lowest})
	}
}

func (c *cluster) zone(key zoneKey) *zone {
	if c.zones[key] == nil {
		c.zones[key] = &zone{}
	}
	return c.zones[key]
}

func (j *Judge) judgeCluster(zones map[zoneKey]*counts, now time.Duration) {
	c, s := &j.cluster, &j.settings
	c.outage.follow(now, allDown(zones, func(z *counts) int { return z.ready + z.doubtful + z.silent }))
	surely := allDown(zones, func(z *counts) int { return z.ready + z.doubtful })
	least, most := s.MinHealthy, max(s.MinHealthy, s.ResumeHealthy)
	if c.paused.ongoing || c.paused.ever && now < c.paused.to+s.Window {
		least = most
	}
	c.paused.follow(now, surely || s.pauses(zones, least, true))
	maybe := allDown(zones, func(z *counts) int { return z.ready })
	c.maybeOutage.follow(now, maybe)
	c.doubt.follow(now, maybe || s.pauses(zones, most, false))
}

// look finds out whether a node is ready, or since when it is not.
func (n *node) look(j *Judge, now time.Duration) {
	at := never
	if n.ready != corev1.ConditionTrue { // a new one is not ready at first
		at = n.readySince
	}
	if n.machine != nil {
		n.heard = max(n.heard, n.machine.LastBeat)
		if n.machine.LastBeat >= n.created && now > n.heard+j.settings.Grace {
			at = min(at, n.heard+j.settings.Grace)
		}
	}
	switch {
	case at == never:
		n.fell = never
	case n.fell == never:
		n.fell, n.lastFell = at, at
	}
}

// knows reports whether a process has known since before it decided on a call
// that something was so.
func (s *sent) knows(r *stretch) bool {
	informed := s.informed(s.process)
	if !r.ever || informed == never {
		return false
	}
	known := max(r.from, informed) + s.settings.lag()
	return known <= s.after && (r.ongoing || known < r.to)
}

// paused reports whether a process knows that nothing may be done against nodes
// while all zones are down or a flag asks for a pause, nor within a window after
// that.
func (s *sent) paused() bool {
	r := &s.cluster.paused
	return s.knows(r) && (r.ongoing || s.at < r.to+s.settings.Window)
}

// resumed returns when the window after the last outage has ended that a process
// must know, or -1.
func (s *sent) resumed() time.Duration {
	r := &s.cluster.outage
	if over := r.to + s.settings.Window; s.knows(r) && !r.ongoing && s.at >= over {
		return over
	}
	return -1
}

// mayRest returns until when a process may do nothing against nodes because of
// what may have been so: never, if that has no end yet.
func (j *Judge) mayRest(p *process, because *stretch) time.Duration {
	since := j.informed(p)
	if since == never || p.led < 0 || because.ongoing {
		return never
	}
	until := max(since+j.settings.lag(), p.led)
	if because.ever {
		until = max(until, because.to+j.settings.lag())
	}
	return until + j.settings.Window
}
