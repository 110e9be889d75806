package invariant

import "time"

// starts is the earliest and the latest time from which a client counts a
// change.
type starts struct{ earliest, latest time.Duration }

// countsFrom returns from when a client counts a change that it sees now, and
// whose time another client has stored. It is from that time and a second, but
// not after now. If the change was not there when the client started, it is at
// most ten seconds before now.
func (v *view) countsFrom(now, stored time.Duration) starts {
	skew, from := v.judge.settings.Skew, min(stored+time.Second, now)
	if v.synced {
		from = max(from, now-trusted)
	}
	if skew == 0 {
		return starts{from, from}
	}
	// Its clock may see it otherwise.
	return starts{min(stored+time.Second, now) - skew, now}
}
