package nodehealth

import "time"

// sight knows the time in which heartbeats could be heard. Seen time is real
// time without the blind time. A monitor keeps its times as seen times, so that
// blindness holds all its grace periods at once.
type sight struct {
	timeout  time.Duration // zero: all time is seen
	unbroken time.Duration
	// proved is the latest time at which heartbeats could be heard for sure.
	proved time.Time
	// blind is all the blind time before proved.
	blind time.Duration
	// since is when the last blindness ended, zero if there was none.
	since time.Time
}

func newSight(config Config, now time.Time) sight {
	return sight{timeout: config.SightTimeout, unbroken: config.UnbrokenPeriod, proved: now}
}

// seen returns the seen time at a real time. After the timeout it stands still.
func (s *sight) seen(now time.Time) time.Time {
	if s.timeout == 0 {
		return now
	}
	if end := s.proved.Add(s.timeout); now.After(end) {
		now = end
	}
	return now.Add(-s.blind)
}

// real returns the earliest real time at which the seen time can be at.
func (s *sight) real(at time.Time) time.Time { return at.Add(s.blind) }

// prove records that heartbeats can be heard. If the last proof is longer ago
// than the timeout, all time since then was blind. The seen time may have gone
// on until the timeout; it stands still then until it is made up for.
func (s *sight) prove(now time.Time) {
	if s.timeout == 0 || !now.After(s.proved) {
		return
	}
	if gap := now.Sub(s.proved); gap > s.timeout {
		s.blind += gap
		s.since = now
	}
	s.proved = now
}

// isBlind reports whether the last proof is too long ago.
func (s *sight) isBlind(now time.Time) bool {
	return s.timeout > 0 && now.Sub(s.proved) > s.timeout
}

// countsFrom returns from when on silence counts: once sight was unbroken for
// long enough.
func (s *sight) countsFrom() time.Time {
	if s.since.IsZero() {
		return time.Time{}
	}
	return s.since.Add(s.unbroken)
}
