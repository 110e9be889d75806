package timedqueue

import (
	"time"

	"golang.org/x/time/rate"
)

// A bucket earns tokens at a rate, up to a burst. An unused token can be put
// back, and a limit of zero holds a stored token, too. Times are distances from
// a moment that is the same for all calls; they must not go back.
//
// It is not a rate.Limiter because a rate.Reservation cannot be canceled once
// its time has come. A credit next to the limiter does not help: while the next
// token is earned in part, credit and part together exceed the burst.
type bucket struct {
	limit   rate.Limit
	burst   float64
	tokens  float64
	counted time.Duration // when tokens was computed
}

// newBucket returns a full bucket of burst tokens, of one if burst is less.
func newBucket(limit rate.Limit, burst int) bucket {
	full := float64(max(burst, 1))
	return bucket{limit: normalize(limit), burst: full, tokens: full}
}

// full reports whether the bucket holds all the tokens that it can, or is less
// than a nanosecond from that; see until.
func (b *bucket) full(now time.Duration) bool {
	b.earn(now)
	earns := b.limit > 0 && b.limit != rate.Inf
	return b.tokens >= b.burst || earns && b.toEarn(b.burst-b.tokens) == 0
}

// take spends a token, which must be at hand. It reports whether the token
// counts: those of an unlimited bucket do not, and are not put back.
func (b *bucket) take(now time.Duration) (counts bool) {
	if b.limit == rate.Inf {
		return false
	}
	b.earn(now)
	b.tokens--
	return true
}

// putBack adds a token that was taken and not used, up to the burst.
func (b *bucket) putBack(now time.Duration) {
	b.earn(now)
	b.tokens = min(b.tokens+1, b.burst)
}

// drain takes all tokens that are at hand.
func (b *bucket) drain(now time.Duration) {
	b.earn(now)
	b.tokens = min(b.tokens, 0)
}

// setLimit changes the rate. Tokens earned until now stay.
func (b *bucket) setLimit(now time.Duration, limit rate.Limit) {
	b.earn(now)
	b.limit = normalize(limit)
}

// untilFull returns how long after now the bucket is full; false means not
// before the limit changes.
func (b *bucket) untilFull(now time.Duration) (time.Duration, bool) {
	switch {
	case b.full(now):
		return 0, true
	case b.limit == 0:
		return 0, false
	}
	return b.toEarn(b.burst-b.tokens) + 1, true // toEarn rounds down
}

// until returns how long after now a token is at hand; false means not before
// the limit changes. A token less than a nanosecond away is at hand, which also
// absorbs rounding errors. It is taken in advance, so the rate holds over time.
func (b *bucket) until(now time.Duration) (time.Duration, bool) {
	if b.limit == 0 {
		return 0, false
	}
	b.earn(now)
	if b.tokens >= 1 || b.limit == rate.Inf {
		return 0, true
	}
	return b.toEarn(1 - b.tokens), true
}

// toEarn returns how long it takes to earn some tokens.
func (b *bucket) toEarn(tokens float64) time.Duration {
	nanoseconds := tokens / float64(b.limit) * float64(time.Second)
	if nanoseconds > float64(maxWait) {
		return maxWait
	}
	return time.Duration(nanoseconds)
}

func (b *bucket) earn(now time.Duration) {
	if now <= b.counted {
		return
	}
	earned := (now - b.counted).Seconds() * float64(b.limit)
	b.tokens = min(b.tokens+earned, b.burst)
	b.counted = now
}

// normalize maps all limits that mean none to [rate.Inf], and all that hold to
// zero. An infinity or a NaN in tokens would stay there.
func normalize(limit rate.Limit) rate.Limit {
	switch {
	case limit > rate.Inf:
		return rate.Inf
	case limit > 0:
		return limit
	}
	return 0
}
