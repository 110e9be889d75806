package controller

import (
	"time"

	"github.com/kubelife/lifecycle/nodehealth"
)

// readLeases hands out the next live read.
func (c *Controller) readLeases(now time.Time) (Action, bool) {
	for {
		if at, ok := c.nextRead(now); !ok || at.After(now) {
			return nil, false
		}
		if len(c.suspects) > mostSingleReads {
			return c.listLeases(now)
		}
		if action, ok := c.readLease(now); ok {
			return action, true
		}
	}
}

// nextRead returns when the next live read may start.
func (c *Controller) nextRead(now time.Time) (time.Time, bool) {
	switch r := &c.reads; {
	case len(c.suspects) == 0 || r.list != listIdle:
		return time.Time{}, false
	case len(c.suspects) > mostSingleReads:
		return latest(r.listAt, now), true
	case r.single >= mostSingleReads && now.Before(r.period):
		return r.period, true
	default:
		return latest(c.nextSuspect().silence.retryAt, now), true
	}
}

// nextSuspect returns the suspect that may be read first. It is called with a
// few only.
func (c *Controller) nextSuspect() *node {
	first := c.suspects[0]
	for _, n := range c.suspects[1:] {
		if n.silence.retryAt.Before(first.silence.retryAt) {
			first = n
		}
	}
	return first
}

func (c *Controller) readLease(now time.Time) (Action, bool) {
	n := c.nextSuspect()
	if !c.health.Expired(now, n.object.Name) {
		n.silence.retryAt = now.Add(readPeriod)
		return nil, false
	}
	if !now.Before(c.reads.period) {
		c.reads.single, c.reads.period = 0, now.Add(readPeriod)
	}
	c.reads.single++
	c.enterSilence(n, reading)
	return ReadLease{Node: n.object, silence: n.silence}, true
}

// listLeases asks for all leases, unless it turns out now that the suspects
// were found while the API server could not be heard. Those are found again at
// about the same time.
func (c *Controller) listLeases(now time.Time) (Action, bool) {
	c.reads.listAt = now.Add(readPeriod)
	if !c.health.Expired(now, c.suspects[0].object.Name) {
		return nil, false
	}
	c.reads.list, c.reads.from = listing, now
	return ListLeases{}, true
}

// leaseRead takes the result of ReadLease.
func (c *Controller) leaseRead(now time.Time, action ReadLease, result Result) {
	n := c.nodes[action.Node.Name]
	if n == nil || n.silence != action.silence || n.silence.state != reading {
		return // heard or deleted
	}
	c.enterSilence(n, suspected)
	if result.Err != nil {
		c.reads.noteFailure(now, len(c.suspects))
		n.silence.retryAt = now.Add(c.config.Backoff.Delay(n.silence.failures))
		n.silence.setFailures(&c.reads, n.silence.failures+1)
		return
	}
	c.decide(now, n, result.Leases)
}

// leasesListed takes the result of ListLeases.
func (c *Controller) leasesListed(now time.Time, result Result) {
	r := &c.reads
	if result.Err != nil {
		r.list = listIdle
		r.noteFailure(now, len(c.suspects))
		r.listAt = latest(r.listAt, now.Add(c.config.Backoff.Delay(r.failures)))
		r.failures++
		return
	}
	r.list, r.versions, r.left, r.failures = listed, result.Leases, len(c.suspects), 0
}

// compare decides about the suspects by the last list, and reports whether it
// has left some for the next Start. The list says nothing of a node that was
// found silent after it had started.
func (c *Controller) compare(now time.Time) (more bool) {
	r := &c.reads
	if r.list != listed {
		return false
	}
	for range mostVisited {
		r.left = min(r.left, len(c.suspects)) - 1
		if r.left < 0 {
			r.list, r.versions = listIdle, nil
			return false
		}
		if n := c.suspects[r.left]; !n.silence.since.After(r.from) {
			c.decide(now, n, r.versions)
		}
	}
	return true
}

// decide finds out whether a suspect is silent, by the versions of leases that
// a live read has shown. That the API server has no lease is no sign of life.
func (c *Controller) decide(now time.Time, n *node, versions map[string]string) {
	s, name := n.silence, n.object.Name
	s.setFailures(&c.reads, 0)
	switch {
	case c.health.ReadLease(name, versions[name]):
		c.reads.refuted++
		c.setBehind(now, n, true)
		c.endSilence(now, n, nodehealth.OutcomeAlive)
	case !c.health.Expired(now, name): // a heartbeat could not be heard after all
		s.retryAt = now.Add(readPeriod)
	default:
		c.confirm(now, n)
	}
}
