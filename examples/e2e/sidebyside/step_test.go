package sidebyside

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachDoesAllOrStopsAtAnErrorOrAnInterruption(t *testing.T) {
	var done atomic.Int64
	do := func(context.Context, int) error {
		done.Add(1)
		return nil
	}
	require.NoError(t, Each(t.Context(), 100, do))
	require.Equal(t, int64(100), done.Load())

	broken := errors.New("broken")
	require.ErrorIs(t, Each(t.Context(), 100, func(ctx context.Context, i int) error {
		if i == 3 {
			return broken
		}
		<-ctx.Done() // the error of another ends all
		return nil
	}), broken)

	over, cancel := context.WithCancel(t.Context())
	cancel()
	done.Store(0)
	require.ErrorIs(t, Each(over, 100, do), context.Canceled)
	require.Zero(t, done.Load())
}

func TestStepsAreDoneInOrderUpToAnError(t *testing.T) {
	var done []string
	does := func(name string) Step {
		return func(context.Context) error {
			done = append(done, name)
			return nil
		}
	}
	broken := errors.New("broken")
	fails := func(context.Context) error { return broken }
	require.ErrorIs(t, InOrder(does("first"), InOrder(does("second")), fails, does("never"))(t.Context()), broken)
	require.Equal(t, []string{"first", "second"}, done)

	var mu sync.Mutex
	require.NoError(t, ToEach([]string{"third"}, func(_ context.Context, name string) error {
		mu.Lock()
		defer mu.Unlock()
		return does(name)(t.Context())
	})(t.Context()))
	require.Equal(t, []string{"first", "second", "third"}, done)
}
