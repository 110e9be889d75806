package running_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/running"
)

func TestTogetherEndsWithTheFirstFailure(t *testing.T) {
	failed := errors.New("failed")
	var ended atomic.Bool
	require.ErrorIs(t, running.Together(t.Context(),
		func(ctx context.Context) error { <-ctx.Done(); ended.Store(true); return nil },
		func(context.Context) error { return failed },
		func(context.Context) error { return nil },
	), failed)
	require.True(t, ended.Load(), "the others were stopped and waited for")
	require.NoError(t, running.Together(t.Context()))
}
