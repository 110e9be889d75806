package timedqueue

import (
	"fmt"
	"math"
	"time"
)

// Outcome is how an action ended.
type Outcome int

const (
	// Done means that the action did its work. The item leaves the queue.
	Done Outcome = iota
	// Nothing means that there was nothing to do and nothing was done. The item
	// leaves the queue and its token is given back.
	Nothing
	// Failed means that the action has to be tried again. The item stays and the
	// token is spent, since a failure costs the API server as much as a success.
	Failed
)

// String returns the outcome's name.
func (o Outcome) String() string {
	switch o {
	case Done:
		return "Done"
	case Nothing:
		return "Nothing"
	case Failed:
		return "Failed"
	}
	return fmt.Sprintf("Outcome(%d)", int(o))
}

// Result is what an action reports. The zero value is Done.
type Result struct {
	Outcome Outcome
	// Wait is how long a failed item waits for its next try. Zero means the
	// queue's backoff, which is longer after each failure. An action that knows when
	// to come back, from a Retry-After say, sets it.
	Wait time.Duration
}

// Backoff is a capped exponential wait: First, then twice that, and so on up to
// Max.
type Backoff struct {
	// First is the wait after an item's first failure. Zero means 500 ms.
	First time.Duration
	// Max caps the wait. Zero means one minute, or First if that is longer.
	Max time.Duration
	// Jitter returns the share by which a wait is lengthened, so that items that
	// failed together do not come back together: for example
	// func() float64 { return 0.2 * rand.Float64() }. It is called with the queue
	// locked and must be quick. Nil means none.
	Jitter func() float64
}

// Validate reports the first thing that is wrong with the backoff.
func (b Backoff) Validate() error {
	if b.First < 0 || b.Max < 0 {
		return fmt.Errorf("%w: Backoff is %v to %v, want zero or more", ErrInvalidConfig, b.First, b.Max)
	}
	if b.Max > 0 && b.Max < b.First {
		return fmt.Errorf("%w: Backoff.Max %v is below Backoff.First %v", ErrInvalidConfig, b.Max, b.First)
	}
	return nil
}

func (b Backoff) withDefaults() Backoff {
	if b.First == 0 {
		b.First = 500 * time.Millisecond
		if b.Max > 0 {
			b.First = min(b.First, b.Max)
		}
	}
	if b.Max == 0 {
		b.Max = max(time.Minute, b.First)
	}
	return b
}

// Delay returns how long to wait after so many failures before this one.
func (b Backoff) Delay(failures int) time.Duration { return b.withDefaults().delay(failures) }

// delay returns the wait after so many failures before this one.
func (b Backoff) delay(failures int) time.Duration {
	wait := b.Max
	if exact := math.Ldexp(float64(b.First), failures); exact < float64(b.Max) {
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
	return wait // the share was negative or not a number
}
