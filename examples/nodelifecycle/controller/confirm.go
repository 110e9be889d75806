package controller

import (
	"time"

	"github.com/kubelife/lifecycle/nodehealth"
)

// A live read of its lease decides whether a silent node is silent, or what
// passes on its heartbeats. A few nodes are read one by one. More are read with
// one list of all leases: it costs one request however many there are.
const (
	// mostSingleReads is how many leases are read one by one in a readPeriod. With
	// more suspects than that all leases are listed.
	mostSingleReads = 3
	// readPeriod is also the time between the starts of two lists.
	readPeriod = time.Second
	// confirmationLasts is how old a confirmation may be when its node is
	// declared. A node that comes back in that time is heard through the watch,
	// unless the watch is behind.
	confirmationLasts = 10 * time.Second
)

// reads are the live reads of leases.
type reads struct {
	// single is how many leases were read one by one in the period that ends then.
	single int
	period time.Time
	list   listState
	// listAt is when the next list may start at the earliest, after so many
	// failures.
	listAt   time.Time
	failures int
	// from is when the list was started that is under way or being evaluated.
	from time.Time
	// versions are the resourceVersions of the leases of that list, by name, and
	// left how many of the suspects it has yet to be compared with.
	versions map[string]string
	left     int
}

// listState is where a list of all leases is. It is written by listLeases,
// listed and compare alone.
type listState uint8

const (
	// listIdle: none is under way.
	listIdle listState = iota
	// listing: it was handed out.
	listing
	// listed: its answer is being compared with what was observed.
	listed
)

func (s listState) String() string { return [...]string{"idle", "listing", "listed"}[s] }

func (c *Controller) addSuspect(n *node) {
	n.silence.slot = len(c.suspects)
	c.suspects = append(c.suspects, n)
}

// removeSuspect may change the order of those that are left. None is forgotten
// by that: compare goes from the last to the first, and only the last moves.
func (c *Controller) removeSuspect(s *silence) {
	last := len(c.suspects) - 1
	moved := c.suspects[last]
	c.suspects[s.slot], moved.silence.slot = moved, s.slot
	c.suspects[last] = nil
	c.suspects = c.suspects[:last]
}

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

// listLeases asks for all leases, unless it has just turned out that the API
// server could not be heard when the suspects were found: they are found again
// at about the same time then.
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
		n.silence.retryAt = now.Add(c.config.Backoff.Delay(n.silence.failures))
		n.silence.failures++
		return
	}
	c.judge(now, n, result.Leases)
}

// leasesListed takes the result of ListLeases.
func (c *Controller) leasesListed(now time.Time, result Result) {
	r := &c.reads
	if result.Err != nil {
		r.list = listIdle
		r.listAt = latest(r.listAt, now.Add(c.config.Backoff.Delay(r.failures)))
		r.failures++
		return
	}
	r.list, r.versions, r.left, r.failures = listed, result.Leases, len(c.suspects), 0
}

// compare judges the suspects by the last list, and reports whether it has left
// some for the next Start. The list says nothing of a node that was found silent
// after it had started.
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
			c.judge(now, n, r.versions)
		}
	}
	return true
}

// judge decides whether a suspect is silent, by the versions of leases that a
// live read has shown. Another version than the one observed shows that what the
// controller observes is behind. That the API server has no lease is no sign of
// life.
func (c *Controller) judge(now time.Time, n *node, versions map[string]string) {
	s, name := n.silence, n.object.Name
	version, exists := versions[name]
	switch {
	case exists && version != s.task.LeaseVersion:
		c.endSilence(now, n, nodehealth.OutcomeAlive)
	case !c.health.Expired(now, name): // a heartbeat could not be heard after all
		s.retryAt = now.Add(readPeriod)
	default:
		s.confirmedAt = now
		c.enterSilence(n, confirmed)
		c.declarations.Add(name, n, s.since)
		c.count(now, n)
	}
}
