package timedqueue

import (
	"math"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// A bucket earns tokens at a rate, up to a burst. An unused token can be
// returned, and a limit of zero holds a stored token, too. Times are distances
// from a moment that is the same for all calls; they must not go back.
//
// It is not a rate.Limiter because a rate.Reservation cannot be canceled once
// its time has come. A credit next to the limiter does not help: while the next
// token is earned in part, credit and part together exceed the burst.
type bucket struct {
	limit   rate.Limit
	burst   float64
	tokens  float64
	counted time.Duration // when tokens was computed
	taken   uint64        // how many have been
	out     []outTaken    // tokens whose fate is open, by number
}

// outTaken is a token that was taken and may still be returned.
type outTaken struct {
	number uint64
	// peak is the highest level of the bucket right before a later take, up to the
	// take of the next token that is still out.
	peak float64
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

// take spends a token, which must be at hand, and returns its number for
// settle. Number zero stands for a token that an unlimited bucket did not
// count.
func (b *bucket) take(now time.Duration) uint64 {
	if b.limit == rate.Inf {
		return 0
	}
	b.earn(now)
	if last := len(b.out) - 1; last >= 0 {
		b.out[last].peak = max(b.out[last].peak, b.tokens)
	}
	b.taken++
	b.tokens--
	b.out = append(b.out, outTaken{b.taken, math.Inf(-1)})
	return b.taken
}

// settle ends a token that was taken: it is spent, or it comes back.
//
// A returned token leaves the bucket as if it had never been taken. That may
// add less than one token: with the token, the bucket might have been at its
// burst and earned less. The highest level since then says how much less. The
// cost grows with the tokens that are out, which are at most the actions under
// way.
func (b *bucket) settle(now time.Duration, number uint64, returned bool) {
	i, out := slices.BinarySearchFunc(b.out, number, func(o outTaken, number uint64) int {
		return int(int64(o.number - number))
	})
	if !out {
		return
	}
	b.earn(now)
	if returned {
		b.restore(i)
	}
	if i > 0 {
		b.out[i-1].peak = max(b.out[i-1].peak, b.out[i].peak)
	}
	b.out = slices.Delete(b.out, i, i+1)
}

func (b *bucket) restore(i int) {
	peak := math.Inf(-1)
	for _, o := range b.out[i:] {
		peak = max(peak, o.peak)
	}
	more := max(0, min(1, b.burst-peak))
	b.tokens = min(b.tokens+more, b.burst)
	for j := range b.out[i:] {
		b.out[i+j].peak += more
	}
}

// setLimit changes the rate. Tokens earned until now stay.
func (b *bucket) setLimit(now time.Duration, limit rate.Limit) {
	b.earn(now)
	b.limit = normalize(limit)
}

// lower takes over the level of another bucket, if that is lower. A token that
// is out and comes back does not raise the level above it either.
func (b *bucket) lower(now time.Duration, other *bucket) {
	b.earn(now)
	other.earn(now)
	if last := len(b.out) - 1; last >= 0 {
		room := max(0, other.tokens-b.tokens)
		b.out[last].peak = max(b.out[last].peak, b.burst-room)
	}
	b.tokens = min(b.tokens, other.tokens)
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
