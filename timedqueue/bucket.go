package timedqueue

import (
	"math"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// A Bucket is the token bucket in front of a [Queue], for who needs one alone. A
// token that was taken for nothing can be returned to it, and a limit of zero holds
// a stored token too. Its time is a distance from a moment of the caller's choice,
// the same for all calls, and must not go back. The zero value holds everything; it
// is not safe for concurrent use.
//
// It is no rate.Limiter. A rate.Reservation cannot be cancelled once its time has
// come. A returned token that is kept beside the limiter's own, as a credit, lets
// one more than the burst through while the limiter's next token is earned in
// part: only who counts both in one number can cap them.
type Bucket struct {
	limit   rate.Limit
	burst   float64
	tokens  float64
	counted time.Duration // when tokens was counted
	taken   uint64        // how many have been
	peaks   []peak
}

// A peak is how full the bucket was when a token was taken: the number of that token,
// and the tokens before it was taken. Kept are those that are higher than all later
// ones, so they are in order of their numbers and, downwards, of their levels.
type peak struct {
	number uint64
	level  float64
}

// mostPeaks bounds what is kept. Levels that fall a little with each token would make
// more of them.
const mostPeaks = 64

// A Token is one that was taken from a bucket. The zero value is none.
type Token struct {
	bucket *Bucket
	number uint64
}

// NewBucket returns a bucket that is full: it holds burst tokens, and one if burst
// is less. A limit that is negative or not a number counts as zero.
func NewBucket(limit rate.Limit, burst int) Bucket {
	full := float64(max(burst, 1))
	return Bucket{limit: sane(limit), burst: full, tokens: full}
}

// Limit returns the tokens that are earned a second.
func (b *Bucket) Limit() rate.Limit { return b.limit }

// Full reports whether the bucket holds all the tokens that it can.
func (b *Bucket) Full(now time.Duration) bool {
	b.earn(now)
	return b.tokens >= b.burst
}

// Take spends one token, and reports whether there was one.
func (b *Bucket) Take(now time.Duration) (Token, bool) {
	if wait, ok := b.Until(now); !ok || wait > 0 {
		return Token{}, false
	}
	if b.limit == rate.Inf {
		return Token{}, true
	}
	b.taken++
	b.note(peak{b.taken, b.tokens})
	b.tokens--
	return Token{b, b.taken}, true
}

func (b *Bucket) note(p peak) {
	for n := len(b.peaks); n > 0 && b.peaks[n-1].level <= p.level; n-- {
		b.peaks = b.peaks[:n-1]
	}
	if len(b.peaks) == mostPeaks { // the first two become one that is as high as the first
		b.peaks[1].level = b.peaks[0].level
		b.peaks = slices.Delete(b.peaks, 0, 1)
	}
	b.peaks = append(b.peaks, p)
}

// GiveBack returns a token that was taken for nothing. To be called once at most.
//
// What is left then is as if it had never been taken. That may be less than a token
// more: a bucket that was full since, or would have been with this one, has not earned
// what it would have earned in its place. Without that, a token that comes back after
// another was taken would let more through than the burst.
func (t Token) GiveBack(now time.Duration) {
	b := t.bucket
	if b == nil {
		return
	}
	b.earn(now)
	after := slices.IndexFunc(b.peaks, func(p peak) bool { return p.number > t.number })
	if after < 0 {
		b.tokens = min(b.tokens+1, b.burst)
		return
	}
	more := min(1, b.burst-b.peaks[after].level)
	if more <= 0 {
		return
	}
	b.tokens = min(b.tokens+more, b.burst)
	later := slices.Clone(b.peaks[after:])
	b.peaks = b.peaks[:after]
	for _, p := range later {
		b.note(peak{p.number, p.level + more})
	}
}

// SetLimit changes the rate. Tokens earned until now stay, none are added.
func (b *Bucket) SetLimit(now time.Duration, limit rate.Limit) {
	b.earn(now)
	b.limit = sane(limit)
}

// Until returns how long after now Take can succeed; false means not before the
// limit changes. A token less than a nanosecond away is at hand, since time is
// no finer: this also swallows what adding up fractions loses. It is taken in
// advance, so the rate holds over time.
func (b *Bucket) Until(now time.Duration) (time.Duration, bool) {
	if b.limit == 0 {
		return 0, false
	}
	b.earn(now)
	if b.tokens >= 1 || b.limit == rate.Inf {
		return 0, true
	}
	nanoseconds := (1 - b.tokens) / float64(b.limit) * float64(time.Second)
	if nanoseconds > float64(maxWait) {
		return maxWait, true
	}
	return time.Duration(nanoseconds), true
}

func (b *Bucket) earn(now time.Duration) {
	now = max(now, b.counted)
	earned := (now - b.counted).Seconds() * float64(b.limit)
	b.tokens = min(b.tokens+earned, b.burst)
	b.counted = now
}

// sane makes one value of all that mean no limit, and one of all that mean hold.
// An infinity or a NaN in tokens would stay there.
func sane(limit rate.Limit) rate.Limit {
	switch {
	case limit > rate.Inf:
		return rate.Inf
	case limit > 0:
		return limit
	}
	return 0
}

const (
	// maxWait bounds every wait. A queue with a limit so small looks again after a
	// century.
	maxWait = 100 * 365 * 24 * time.Hour

	// maxNow bounds a queue's now, at 146 years from its epoch, so that now and a
	// wait can be added.
	maxNow = time.Duration(math.MaxInt64) - maxWait
)
