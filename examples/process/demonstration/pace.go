package demonstration

import (
	"context"
	"time"
)

// A Pace is called when a time of a [World] has passed, and waits until it may
// go on, or ctx ends.
type Pace func(ctx context.Context, passed time.Duration)

// AtOnce is the Pace of a World that waits for nothing.
func AtOnce(context.Context, time.Duration) {}

// mostBehind is how far behind the clock a World catches up.
const mostBehind = time.Second

// OfTheClock returns a Pace at which the time of a World passes no faster than
// that of the clock. It catches up with timers that are late. What is lost when
// the machine stands still stays lost, because a hurry would show nothing.
func OfTheClock() Pace {
	due := time.Now()
	return func(ctx context.Context, passed time.Duration) {
		due = due.Add(passed)
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		if now := time.Now(); now.Sub(due) > mostBehind {
			due = now
		}
	}
}
