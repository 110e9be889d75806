package timedqueue

import (
	"math"
	"time"
)

// A clock counts time from its epoch and never goes back.
type clock struct {
	epoch time.Time
	now   time.Duration // the latest that was passed
}

// advance sets the time and returns it: now, or the latest time that was passed
// if that is later. It returns now itself because callers write wall times to
// objects. A time that is counted from the epoch is wrong after a suspension of
// the machine or a change of its clock.
func (c *clock) advance(now time.Time) time.Time {
	at := min(c.distance(now), maxNow)
	if at >= c.now {
		c.now = at
		if at < maxNow {
			return now
		}
	}
	return c.time(c.now)
}

// distance saturates at about 292 years from the epoch, right before never.
func (c *clock) distance(t time.Time) time.Duration {
	return min(t.Sub(c.epoch), math.MaxInt64-1)
}

// due is the distance of a due time. The zero time means now.
func (c *clock) due(t time.Time) time.Duration {
	if t.IsZero() {
		return c.now
	}
	return c.distance(t)
}

func (c *clock) time(d time.Duration) time.Time { return c.epoch.Add(d) }

const (
	// never is the due time of an entry that has none.
	never = time.Duration(math.MaxInt64)
	// maxWait bounds each wait. With a limit so small that a token takes longer, a
	// queue is due after a century.
	maxWait = 100 * 365 * 24 * time.Hour
	// maxNow bounds now, at 146 years from the epoch, so that now and a wait can
	// be added.
	maxNow = never - maxWait - 1
)
