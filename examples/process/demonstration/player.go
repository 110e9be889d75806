package demonstration

import (
	"context"
	"time"
)

// A World is a cluster with the program in it, and the time that passes there.
type World interface {
	// Elapsed returns how much time has passed.
	Elapsed() time.Duration
	// Advance lets everything happen that happens up to a time since the start.
	Advance(until time.Duration)
}

// A Player lets the time of a World pass, and shows what happens meanwhile. All
// fields but Pause must be set.
type Player struct {
	World World
	// Pace is how fast the time of the World passes.
	Pace Pace
	// Glance is how often Show shows how things are.
	Glance time.Duration
	Show   func()
	// Pause is how long each step of a script stays in view when it has got where
	// it should. What the program does meanwhile is part of the step.
	Pause time.Duration
}

// Pass lets a time pass. It reports false if ctx ends before.
func (p *Player) Pass(ctx context.Context, length time.Duration) bool {
	until := p.World.Elapsed() + length
	return p.Await(ctx, length, func() bool { return p.World.Elapsed() >= until })
}

// Await lets time pass until something is reached, but no more than most. It
// reports false if ctx ends before.
func (p *Player) Await(ctx context.Context, most time.Duration, reached func() bool) bool {
	for until := p.World.Elapsed() + most; ; {
		p.Show()
		now := p.World.Elapsed()
		if now >= until || reached() {
			return true
		}
		step := min(p.Glance, until-now)
		p.World.Advance(now + step)
		if !p.Pace(ctx, step) {
			return false
		}
	}
}

// A Pace is called when a time of a World has passed, and waits until it may go
// on. It reports false if ctx ends before.
type Pace func(ctx context.Context, passed time.Duration) bool

// AtOnce is the Pace of a World that waits for nothing.
func AtOnce(ctx context.Context, _ time.Duration) bool { return ctx.Err() == nil }

// mostBehind is how far behind the clock a World catches up.
const mostBehind = time.Second

// OfTheClock returns a Pace at which the time of a World passes no faster than
// that of the clock. It catches up with timers that are late. What is lost when
// the machine stands still stays lost, because a hurry would show nothing.
func OfTheClock() Pace {
	due := time.Now()
	return func(ctx context.Context, passed time.Duration) bool {
		due = due.Add(passed)
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
		}
		if now := time.Now(); now.Sub(due) > mostBehind {
			due = now
		}
		return ctx.Err() == nil
	}
}
