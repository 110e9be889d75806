// Package running has what programs and the runners of controllers need to run
// functions: for as long as a context lasts, and for at most a time. It links
// nothing but the standard library, so that importers of a runner get nothing
// of a program.
package running

import (
	"context"
	"sync"
	"time"
)

// Together runs functions until one of them fails or ctx ends, and returns when
// all have, with the first failure.
func Together(ctx context.Context, run ...func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	failures := make(chan error, len(run))
	for _, f := range run {
		running.Go(func() {
			if err := f(ctx); err != nil {
				failures <- err
				stop()
			}
		})
	}
	running.Wait()
	close(failures)
	return <-failures
}

// Every does something in each period until ctx ends.
func Every(ctx context.Context, period time.Duration, do func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do()
		}
	}
}

// Within returns an action with a timeout.
func Within[T, R any](
	timeout time.Duration, act func(context.Context, T) R,
) func(context.Context, T) R {
	return func(ctx context.Context, task T) R {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return act(ctx, task)
	}
}
