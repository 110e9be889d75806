package sidebyside

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
)

// concurrency is how many requests a script sends at a time.
const concurrency = 16

// EachOf does something to each of some, some at a time. It stops at the first
// error.
func EachOf[T any](ctx context.Context, all []T, do func(ctx context.Context, one T) error) error {
	return Each(ctx, len(all), func(ctx context.Context, i int) error { return do(ctx, all[i]) })
}

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
