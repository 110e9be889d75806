package process

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrStuck says that the controller did not answer for too long. What it waits
// for may never happen, so the process ends without waiting for it.
var ErrStuck = errors.New("the controller is stuck")

// A watchdog asks a controller each second whether it still moves. It counts
// the seconds in which this process ran: after a suspension of the machine a
// controller has the time to answer.
type watchdog struct {
	// unanswered is for how many seconds an answer has been missing.
	unanswered atomic.Int64
}

// Limits of a watchdog, in seconds. No turn of a controller takes longer than
// a fraction of one.
const (
	unhealthyAfter = 5
	stuckAfter     = 20
)

// run asks until ctx ends, which is no error, or an answer is missing for too
// long. Answer returns once the controller has answered.
func (w *watchdog) run(ctx context.Context, answer func()) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			answer()
		}()
		if err := w.wait(ctx, answered, tick.C); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *watchdog) wait(ctx context.Context, answered <-chan struct{}, tick <-chan time.Time) error {
	for {
		select {
		case <-answered:
			w.unanswered.Store(0)
			return nil
		case <-ctx.Done():
			return nil
		case <-tick:
			if w.unanswered.Add(1) >= stuckAfter {
				return fmt.Errorf("%w: no answer for %d s", ErrStuck, stuckAfter)
			}
		}
	}
}

// check reports what /healthz says of the controller.
func (w *watchdog) check() error {
	if seconds := w.unanswered.Load(); seconds >= unhealthyAfter {
		return fmt.Errorf("%w: no answer for %d s", ErrStuck, seconds)
	}
	return nil
}
