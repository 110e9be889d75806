package network

import (
	"slices"
	"time"
)

// A stretch of time. It goes on if it has no end yet.
type stretch struct {
	from, to time.Duration
	ended    bool
}

// begin adds a stretch that begins now, unless one goes on.
func begin(all []stretch, now time.Duration) []stretch {
	if n := len(all); n > 0 && !all[n-1].ended {
		return all
	}
	return append(all, stretch{from: now})
}

// end ends the stretch that goes on.
func end(all []stretch, now time.Duration) {
	if n := len(all); n > 0 && !all[n-1].ended {
		all[n-1].to, all[n-1].ended = now, true
	}
}

// until returns when it ends, or a time until which it goes on.
func (s stretch) until(now time.Duration) time.Duration {
	if s.ended {
		return s.to
	}
	return max(now, s.from)
}

// Suspend has what the process measures durations with stand still. Suspensions
// may overlap.
func (c *Client) Suspend() {
	c.asleep++
	c.suspensions = begin(c.suspensions, c.network.Elapsed())
}

// Unsuspend ends one suspension, and returns for how long it has lasted apart from
// what others had of it before.
func (c *Client) Unsuspend() (suspended time.Duration) {
	end(c.suspensions, c.network.Elapsed())
	last := &c.suspensions[len(c.suspensions)-1]
	suspended = last.to - last.from
	if c.asleep--; c.asleep > 0 {
		c.suspensions = begin(c.suspensions, c.network.Elapsed())
	}
	return suspended
}

// SuspendedFor returns for how much of the time between two moments what the
// process measures durations with stood still.
func (c *Client) SuspendedFor(from, to time.Duration) (suspended time.Duration) {
	for _, s := range c.suspensions {
		suspended += max(0, min(s.until(to), to)-max(s.from, from))
	}
	return suspended
}

// awake are the pauses without what was a suspension.
func (c *Client) awake() []stretch {
	all := slices.Clone(c.pauses)
	for _, suspended := range c.suspensions {
		wakes := suspended.until(c.network.Elapsed())
		var rest []stretch
		for _, s := range all {
			if s.ended && s.to <= suspended.from || s.from >= wakes {
				rest = append(rest, s)
				continue
			}
			if s.from < suspended.from {
				rest = append(rest, stretch{s.from, suspended.from, true})
			}
			if suspended.ended && (!s.ended || s.to > wakes) {
				rest = append(rest, stretch{wakes, s.to, s.ended})
			}
		}
		all = rest
	}
	return all
}

// Deaf returns how much of the time between two moments a process could not
// have heard of a heartbeat. It stood still, was suspended, or the API server
// refused it or stored nothing, for longer than a bound. A pause into which a suspension falls is
// as long as the process can measure it.
func (c *Client) Deaf(from, to, bound time.Duration) time.Duration {
	var all []stretch
	for _, s := range slices.Concat(c.awake(), c.suspensions, c.network.faults.outages, c.network.faults.readOnlyTimes) {
		s.to = s.until(to)
		if s.to-s.from > bound {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b stretch) int { return int(a.from - b.from) })
	deaf, until := time.Duration(0), from
	for _, s := range all {
		begins, ends := max(s.from, until), min(s.to, to)
		if ends > begins {
			deaf += ends - begins
			until = ends
		}
	}
	return deaf
}
