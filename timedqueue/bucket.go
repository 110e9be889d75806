package timedqueue

import (
	"time"

	"golang.org/x/time/rate"
)

// A bucket is a rate.Limiter with what a queue of actions needs beside it: a
// token that was taken for nothing can be returned, and a limit of zero holds a
// stored token too.
//
// A rate.Reservation cannot be cancelled once its time has come, so a returned
// token is kept as a credit. Credits are whole tokens that the limiter has given
// out already: spending one can never exceed the limiter's rate.
type bucket struct {
	limiter *rate.Limiter
	credits int
}

func newBucket(limit rate.Limit, burst int) bucket {
	return bucket{limiter: rate.NewLimiter(limit, burst)}
}

// take spends one token. Times passed to a bucket must not decrease.
func (b *bucket) take(now time.Time) bool {
	if b.limiter.Limit() <= 0 {
		return false
	}
	b.trim(now)
	if b.credits > 0 {
		b.credits--
		return true
	}
	return b.limiter.AllowN(now, 1)
}

// giveBack returns a token that was taken for nothing.
func (b *bucket) giveBack(now time.Time) {
	if b.limiter.Limit() == rate.Inf {
		return
	}
	b.credits++
	b.trim(now)
}

// trim drops the credits that a bucket of this size could not have held.
func (b *bucket) trim(now time.Time) {
	if b.credits == 0 {
		return
	}
	room := b.limiter.Burst() - int(b.limiter.TokensAt(now))
	b.credits = min(b.credits, max(room, 0))
}

// setLimit changes the rate. Tokens earned until now stay, none are added.
func (b *bucket) setLimit(now time.Time, limit rate.Limit) {
	b.limiter.SetLimitAt(now, limit)
}

// wait returns how long after now take can succeed; false means not before the
// limit changes.
func (b *bucket) wait(now time.Time) (time.Duration, bool) {
	limit := b.limiter.Limit()
	if limit <= 0 {
		return 0, false
	}
	if limit == rate.Inf || b.credits > 0 {
		return 0, true
	}
	missing := 1 - b.limiter.TokensAt(now)
	if missing <= 0 {
		return 0, true
	}
	seconds := missing / float64(limit)
	if seconds > maxWait.Seconds() {
		return maxWait, true
	}
	// Rounded up: a wait that ends before its token costs one more look.
	return time.Duration(seconds*float64(time.Second)) + 1, true
}

// maxWait keeps sums of times far from overflow. A queue with a limit so small
// looks again after a century.
const maxWait = 100 * 365 * 24 * time.Hour
