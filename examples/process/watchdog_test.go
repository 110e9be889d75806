package process

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// C4: a controller that answers slowly is unhealthy for as long as it does, and
// one that does not answer ends the process.
func TestC4WatchdogTellsSlowFromStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dog watchdog
		var takes atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- dog.run(ctx, func() { time.Sleep(time.Duration(takes.Load())) }) }()
		wait(time.Hour)
		require.NoError(t, dog.check())

		takes.Store(int64(15 * time.Second))
		wait(4 * time.Second)
		require.NoError(t, dog.check())
		wait(4 * time.Second)
		require.ErrorIs(t, dog.check(), ErrStuck)
		takes.Store(0)
		wait(10 * time.Second)
		require.NoError(t, dog.check(), "it has answered")
		require.Empty(t, ended)

		stop()
		wait(0)
		require.NoError(t, <-ended)
	})
}

// C4: the lease is released while what acts is stuck, so that another replica
// leads at its next try. The process does not wait for what is stuck.
func TestC4LeaderThatIsStuckMakesRoomForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		first, second := newReplica(cluster), newReplica(cluster)
		hold := make(chan struct{})
		ended := make(chan error, 1)
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			ended <- unlessStuck(ctx, &watchdog{}, func() { <-hold }, &first.election,
				func(ctx context.Context) error {
					return first.run(ctx, func(context.Context) error { <-hold; return nil },
						func(ctx context.Context) { <-ctx.Done() })
				})
		}()
		wait(time.Second)
		second.start(ctx)
		wait(10 * time.Second)
		require.False(t, second.acts.Load())
		require.True(t, first.fence.valid(time.Now()))
		wait(11 * time.Second)
		require.ErrorIs(t, <-ended, ErrStuck)
		require.False(t, first.fence.valid(time.Now()), "nothing of it is sent any more")
		wait(3 * time.Second)
		require.True(t, second.acts.Load(), "at the next try, not after the lease's duration")
		close(hold)
		stop()
		wait(time.Minute)
		require.NoError(t, <-second.ended)
	})
}

// A replica that does not lead ends at once.
func TestC4ReplicaThatIsStuckEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.NewCluster()
		leader, stuck := newReplica(cluster), newReplica(cluster)
		ctx, stop := context.WithCancel(t.Context())
		leader.start(ctx)
		wait(time.Second)
		hold := make(chan struct{})
		began := time.Now()
		err := unlessStuck(ctx, &watchdog{}, func() { <-hold }, &stuck.election,
			func(ctx context.Context) error {
				return stuck.run(ctx, func(context.Context) error { <-hold; return nil },
					func(context.Context) { <-hold })
			})
		require.ErrorIs(t, err, ErrStuck)
		require.Equal(t, stuckAfter*time.Second, time.Since(began))
		require.True(t, leader.acts.Load())
		close(hold)
		stop()
		wait(time.Minute)
		require.NoError(t, <-leader.ended)
	})
}
