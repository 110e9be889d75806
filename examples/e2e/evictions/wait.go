package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// patience bounds each wait for something that has to happen.
	patience = 3 * time.Minute
	// lookPeriod is how far apart looks are.
	lookPeriod = 200 * time.Millisecond
)

var errNotYet = errors.New("not yet")

// await asks until the answer is yes. Errors are remembered and asked over, since the API
// server may be down on purpose; but not for ever, when the subject has ended.
func await(ctx context.Context, what string, ask func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	last := errNotYet
	for {
		yes, err := ask(ctx)
		if yes && err == nil {
			return nil
		}
		if errors.Is(err, errEnded) {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		if err != nil && ctx.Err() == nil { // else err says only that ctx has ended
			last = err
		}
		if pause(ctx, lookPeriod) != nil {
			return fmt.Errorf("waiting for %s: %w; the last answer: %w", what, context.Cause(ctx), last)
		}
	}
}

// pause lets time pass that is a part of the scenario: a toleration, an outage.
func pause(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// pauseUntil lets time pass until a moment.
func pauseUntil(ctx context.Context, moment time.Time) error {
	return pause(ctx, time.Until(moment))
}
