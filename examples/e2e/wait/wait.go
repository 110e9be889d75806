// Package wait waits for what an API server shows, and lets time pass. It
// serves tests and measurements in which the API server may be down on purpose.
package wait

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// Patience bounds each wait for something that has to happen.
	Patience = 3 * time.Minute
	// LookPeriod is how far apart looks are.
	LookPeriod = 200 * time.Millisecond
)

// ErrEnded says that a program has ended by itself. No wait goes on after it.
var ErrEnded = errors.New("the subject has ended by itself")

// Until asks what is missing until nothing is, for as long as Patience. An error
// of the API server is something missing too: it may be down on purpose.
func Until(ctx context.Context, what string, missing func(context.Context) error) error {
	return For(ctx, Patience, LookPeriod, what, missing)
}

// For is Until with another bound, for what takes long by its size, and another
// time between the questions.
func For(
	ctx context.Context, patience, period time.Duration, what string, missing func(context.Context) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	for {
		err := missing(ctx)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrEnded):
			return fmt.Errorf("waiting for %s: %w", what, err)
		case last == nil || ctx.Err() == nil: // else err says only that ctx has ended
			last = err
		}
		if Pause(ctx, period) != nil {
			return fmt.Errorf("waiting for %s: %w; the last answer: %w", what, context.Cause(ctx), last)
		}
	}
}

// Pause lets time pass that is a part of the scenario: a toleration, an outage.
func Pause(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// PauseUntil lets time pass until a moment.
func PauseUntil(ctx context.Context, moment time.Time) error {
	return Pause(ctx, time.Until(moment))
}
