package nodehealth

import "time"

// Sight is whether silence counts at a moment.
type Sight struct {
	// Blind reports whether the last proof that heartbeats can be heard is longer
	// ago than Config.SightTimeout.
	Blind bool
	// LostAt is the last proof before the current blindness, or when requests
	// began to fail; see [Monitor.Unanswered]. Further blindness within
	// Config.UnbrokenPeriod does not change it. It is zero while silence counts.
	LostAt time.Time
	// RegainedAt is when the last blindness ended, or the monitor began, and
	// CountsFrom when silence counts again if no other follows. Both are zero while
	// Blind is true, and once Config.UnbrokenPeriod is over.
	RegainedAt, CountsFrom time.Time
}

// Counts reports whether keys can be found silent.
func (s Sight) Counts() bool { return s.LostAt.IsZero() }

// Settled reports whether each key that lives had time to be heard since the
// last blindness. That requests fail does not matter.
func (s Sight) Settled() bool { return !s.Blind && s.RegainedAt.IsZero() }

// sight records the time in which heartbeats could be heard. Seen time is real
// time minus blind time. A monitor keeps its times as seen times, so that
// blindness extends all grace periods at once.
type sight struct {
	timeout  time.Duration // zero: all time is seen
	unbroken time.Duration
	// proved is the latest time at which heartbeats could certainly be heard.
	proved time.Time
	// blind is all the blind time before proved, and blindnesses how many there
	// were.
	blind       time.Duration
	blindnesses uint32
	// since is when the last blindness ended, or when the monitor began: what was
	// alive had no time to be heard by it.
	since time.Time
	// lostAt is the last proof before a series of blindnesses, each within the
	// unbroken period of the one before.
	lostAt time.Time
	// failures is the share of requests that have failed, the last ones weighing
	// most. Many have since failingAt, which is zero if not.
	failures  float64
	failingAt time.Time
}

const (
	// weightOfLast is that of the last request in the share of failures. Ten
	// requests are 20 s of renewing a leader's lease.
	weightOfLast = 0.1
	// manyFailures is a share of failures. A kubelet tries a renewal five times. If
	// half of all calls fail, three of a hundred renewals do; if four of five fail,
	// a third of the renewals do, and of a hundred living nodes about two a minute
	// are silent for a grace period.
	manyFailures = 0.4
)

func newSight(config Config, now time.Time) sight {
	s := sight{timeout: config.SightTimeout, unbroken: config.UnbrokenPeriod, proved: now}
	if s.timeout > 0 {
		s.since, s.lostAt = now, now
	}
	return s
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

// prove records that heartbeats can be heard, by what was asked for at sent and
// is there now. If that was asked for longer after the last proof than the
// timeout, all time in between was blind. The seen time has already gone on
// until the timeout; it now stands still for as long.
func (s *sight) prove(now, sent time.Time) {
	if s.timeout == 0 || !now.After(s.proved) {
		return
	}
	if gap := sent.Sub(s.proved); gap > s.timeout {
		if !s.proved.Before(s.countsFrom()) {
			s.lostAt = s.proved
		}
		s.blind += gap
		s.blindnesses++
		s.since = now
	}
	s.proved = now
}

// answer records that a request was answered. The time in which it was under
// way is seen, unless that took longer than a heartbeat interval: a sender gives
// up after that, so the answer proves nothing.
func (s *sight) answer(now, sent time.Time) {
	if s.failures -= s.failures * weightOfLast; s.failures <= manyFailures {
		s.failingAt = time.Time{}
	}
	if now.Sub(sent) <= s.unbroken/2 {
		s.prove(now, sent)
	}
}

// fail records that a request has failed.
func (s *sight) fail(now time.Time) {
	if s.timeout == 0 {
		return
	}
	s.failures += (1 - s.failures) * weightOfLast
	if s.failures > manyFailures && s.failingAt.IsZero() {
		s.failingAt = now
	}
}

// isBlind reports whether the last proof is too long ago.
func (s *sight) isBlind(now time.Time) bool {
	return s.timeout > 0 && now.Sub(s.proved) > s.timeout
}

// counts reports whether keys can be found silent.
func (s *sight) counts(now time.Time) bool {
	return !s.isBlind(now) && s.failingAt.IsZero() && !now.Before(s.countsFrom())
}

// countsFrom returns from when on silence counts: once there was no blindness
// for long enough.
func (s *sight) countsFrom() time.Time {
	if s.since.IsZero() {
		return time.Time{}
	}
	return s.since.Add(s.unbroken)
}

// at returns whether silence counts.
func (s *sight) at(now time.Time) Sight {
	sight := Sight{Blind: s.isBlind(now)}
	switch from := s.countsFrom(); {
	case sight.Blind && !s.proved.Before(from):
		sight.LostAt = s.proved
	case sight.Blind:
		sight.LostAt = s.lostAt
	case now.Before(from):
		sight.LostAt, sight.RegainedAt, sight.CountsFrom = s.lostAt, s.since, from
	}
	failing := !s.failingAt.IsZero()
	if failing && (sight.LostAt.IsZero() || s.failingAt.Before(sight.LostAt)) {
		sight.LostAt = s.failingAt
	}
	return sight
}
