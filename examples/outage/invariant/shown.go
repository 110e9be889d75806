package invariant

import "time"

// shown is when a watch has shown a client something of one kind.
type shown struct {
	ever bool
	last time.Duration
	// ended is when it has shown something after a silence, and before is when it
	// had shown something before that.
	ended, before time.Duration
}

// note records that the watch has shown something.
func (s *shown) note(now time.Duration) {
	switch {
	case !s.ever: // the first list ends no silence
		s.ended = now - trusted
	case now-s.last > trusted:
		s.ended, s.before = now, s.last
	}
	s.ever, s.last = true, now
}

// current returns when the watch was current last. That is now, except in a
// silence and shortly after one. While the watch may still show what it has
// missed, it is before the silence.
func (s *shown) current(now time.Duration) time.Duration {
	switch {
	case !s.ever:
		return now
	case now-s.last > trusted:
		return s.last
	case now-s.ended < trusted:
		return s.before
	}
	return now
}

// starts is the earliest and the latest time from which a client counts a
// change. The latest is by a clock that is right.
type starts struct{ earliest, latest time.Duration }

// countsFrom returns from when a client counts a change that it sees now, and
// whose time another client has stored. It is from that time and a second, if
// the time is believable. It always is if the change was there when the client
// started. Else it is if it is at most ten seconds older than the time at which
// the watch was current last. What a watch shows later than that, though it
// shows other things meanwhile, counts from now.
func (v *view) countsFrom(now time.Duration, of *shown, stored time.Duration) starts {
	skew := v.judge.settings.Skew
	from := starts{now, now}
	if stored <= now && (!v.synced || stored >= of.current(now)-trusted) {
		// From its sight on is never early, and its clock may be behind by less than
		// what makes it ask for the time.
		from = starts{min(stored+time.Second, now), stored + time.Second}
	}
	if skew > 0 { // its clock may see it otherwise
		from = starts{min(stored+time.Second, now) - skew, max(stored+time.Second, now)}
	}
	return from
}
