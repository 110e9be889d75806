package sidebyside

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A Step is a part of a script. It returns when it is done.
type Step func(context.Context) error

// InOrder does steps one after another, and stops at the first error.
func InOrder(steps ...Step) Step {
	return func(ctx context.Context) error {
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// Pause lets time pass.
func Pause(duration time.Duration) Step {
	return func(ctx context.Context) error { return wait.Pause(ctx, duration) }
}

// ToEach does something to each of some, as [Each] does.
func ToEach[T any](all []T, do func(ctx context.Context, one T) error) Step {
	return func(ctx context.Context) error {
		return Each(ctx, len(all), func(ctx context.Context, i int) error { return do(ctx, all[i]) })
	}
}

// concurrency is how many requests a script sends at a time.
const concurrency = 16

// Each does something for each number below n, some at a time. It stops at the
// first error.
func Each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, doing := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for i := range n {
		if doing.Err() != nil {
			break
		}
		group.Go(func() error { return do(doing, i) })
	}
	return errors.Join(group.Wait(), context.Cause(ctx))
}
