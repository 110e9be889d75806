package timedqueue

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Backoff is a capped exponential wait: Initial, then twice that, and so on up
// to Max.
type Backoff struct {
	// Initial is the wait after an item's first failure. Zero means 500 ms, or Max
	// if that is shorter.
	Initial time.Duration
	// Max caps the wait. Zero means one minute, or Initial if that is longer.
	Max time.Duration
	// Jitter returns the fraction by which a wait is lengthened, so that items
	// that failed together do not come back together: for example
	// 0.2 * rand.Float64(). It is called with the core locked and must be quick.
	// Nil means none.
	Jitter func() float64
}

// Validate joins all that is wrong with the backoff.
func (b Backoff) Validate() error {
	var problems []error
	complain := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		problems = append(problems, fmt.Errorf("%w: Backoff.%s", ErrInvalidConfig, text))
	}
	if b.Initial < 0 {
		complain("Initial is %v, want zero or more", b.Initial)
	}
	if b.Max < 0 {
		complain("Max is %v, want zero or more", b.Max)
	}
	if b.Max > 0 && b.Max < b.Initial {
		complain("Max is %v, want at least Backoff.Initial, %v", b.Max, b.Initial)
	}
	return errors.Join(problems...)
}

func (b Backoff) withDefaults() Backoff {
	if b.Initial == 0 {
		b.Initial = 500 * time.Millisecond
		if b.Max > 0 {
			b.Initial = min(b.Initial, b.Max)
		}
	}
	if b.Max == 0 {
		b.Max = max(time.Minute, b.Initial)
	}
	return b
}

// Delay returns how long to wait after a failure, given the failures before it.
func (b Backoff) Delay(failures int) time.Duration { return b.withDefaults().delay(failures) }

func (b Backoff) delay(failures int) time.Duration {
	wait := b.Max
	if exact := math.Ldexp(float64(b.Initial), failures); exact < float64(b.Max) {
		wait = time.Duration(exact)
	}
	if b.Jitter == nil {
		return wait
	}
	longer := float64(wait) * (1 + b.Jitter())
	switch {
	case longer >= float64(maxWait):
		return maxWait
	case longer > float64(wait):
		return time.Duration(longer)
	}
	return wait // the fraction was negative or not a number
}

// Longest returns the longest wait before jitter.
func (b Backoff) Longest() time.Duration { return b.withDefaults().Max }
