package nodehealth

import "time"

// Sight is whether silence counts at a moment.
type Sight struct {
	// Blind reports whether Sighted was last called longer ago than
	// Config.SightTimeout.
	Blind bool
	// LostAt is when sight was last proved before no key could be found silent.
	// It stays the same until sight was unbroken for Config.UnbrokenPeriod. It is
	// the zero time while silence counts.
	LostAt time.Time
	// RegainedAt is when the last blindness ended, and CountsFrom when silence
	// counts again if no other follows. Both are the zero time while Blind is true
	// or silence counts.
	RegainedAt, CountsFrom time.Time
}

// Counts reports whether keys can be found silent.
func (s Sight) Counts() bool { return s.LostAt.IsZero() }

// sight records the time in which heartbeats could be heard. Seen time is real
// time minus blind time. A monitor keeps its times as seen times, so that
// blindness extends all grace periods at once.
type sight struct {
	timeout  time.Duration // zero: all time is seen
	unbroken time.Duration
	// proved is the latest time at which heartbeats could certainly be heard.
	proved time.Time
	// blind is all the blind time before proved.
	blind time.Duration
	// since is when the last blindness ended, zero if there was none.
	since time.Time
	// lostAt is the last proof before a series of blindnesses, each within the
	// unbroken period of the one before.
	lostAt time.Time
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
// than the timeout, all time since then was blind. The seen time has already
// gone on until the timeout; it now stands still for as long. It reports
// whether that was so.
func (s *sight) prove(now time.Time) (regained bool) {
	if s.timeout == 0 || !now.After(s.proved) {
		return false
	}
	gap := now.Sub(s.proved)
	if regained = gap > s.timeout; regained {
		s.lostAt = s.lost()
		s.blind += gap
		s.since = now
	}
	s.proved = now
	return regained
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

// lost returns when sight was lost, if the last proof is followed by blindness.
func (s *sight) lost() time.Time {
	if s.proved.Before(s.countsFrom()) {
		return s.lostAt
	}
	return s.proved
}

// at returns whether silence counts.
func (s *sight) at(now time.Time) Sight {
	from := s.countsFrom()
	switch {
	case s.isBlind(now):
		return Sight{Blind: true, LostAt: s.lost()}
	case now.Before(from):
		return Sight{LostAt: s.lostAt, RegainedAt: s.since, CountsFrom: from}
	}
	return Sight{}
}
