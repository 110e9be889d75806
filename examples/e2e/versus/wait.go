package versus

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// Patience bounds each wait for something that has to happen.
	Patience = 3 * time.Minute
	// lookPeriod is how far apart looks are.
	lookPeriod = 200 * time.Millisecond
)

// ErrEnded says that a subject has ended by itself. Await does not go on after
// it.
var ErrEnded = errors.New("the subject has ended by itself")

var errNotYet = errors.New("not yet")

// Await asks until the answer is yes, for as long as Patience. Errors are
// remembered and the question is asked again, because the API server may be
// down on purpose.
func Await(ctx context.Context, what string, ask func(context.Context) (bool, error)) error {
	return AwaitEvery(ctx, lookPeriod, what, ask)
}

// AwaitEvery is Await with another time between the questions.
func AwaitEvery(
	ctx context.Context, period time.Duration, what string, ask func(context.Context) (bool, error),
) error {
	return AwaitFor(ctx, Patience, period, what, ask)
}

// AwaitFor is AwaitEvery with another bound, for what takes long by its size.
func AwaitFor(
	ctx context.Context, patience, period time.Duration, what string, ask func(context.Context) (bool, error),
) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	last := errNotYet
	for {
		yes, err := ask(ctx)
		if yes && err == nil {
			return nil
		}
		if errors.Is(err, ErrEnded) {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		if err != nil && ctx.Err() == nil { // else err says only that ctx has ended
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
