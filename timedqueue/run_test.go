package timedqueue

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	_ sync.Locker                     = (*Dispatcher[int, int])(nil)
	_ Core[Item[string, int], Result] = (*Queue[string, int])(nil)
	_ Core[Item[string, int], Result] = (*Group[string, string, int])(nil)
)

func TestRunReturnsWhenAllThatItStartedHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueNow(t, unlimited)
		var ended atomic.Int64
		d, err := NewDispatcher(DispatcherConfig[Item[string, int], Result]{
			Core: q, Workers: 3,
			Act: func(ctx context.Context, item Item[string, int]) Result {
				<-ctx.Done()
				time.Sleep(time.Duration(item.Value) * time.Second) // it takes its time
				ended.Add(1)
				return Result{Outcome: Outcome(item.Value % 3)}
			},
		})
		require.NoError(t, err)
		for i := range 10 {
			q.Add(fmt.Sprint(i), i, time.Now())
		}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Minute, cancel)
		d.Run(ctx)

		require.Equal(t, time.Minute+2*time.Second, time.Since(began))
		require.Equal(t, int64(3), ended.Load(), "nothing starts after the end of the context")
		// 0 was Done, 1 had Nothing to do, 2 Failed and was put back; 3 to 9 never ran.
		require.Equal(t, 8, q.Len())
		failed, ok := q.Get("2")
		require.True(t, ok)
		require.Equal(t, 1, failed.Tries, "the last results were reported")
	})
}

func TestRunUnderACancelledContextStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := &countingCore{}
		q := queueNow(t, unlimited)
		core.Core = q
		q.Add("a", 0, time.Now())
		d, err := NewDispatcher(DispatcherConfig[Item[string, int], Result]{
			Core: core,
			Act:  func(context.Context, Item[string, int]) Result { panic("acted") },
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		d.Run(ctx)
		require.Zero(t, core.starts.Load())
		require.Equal(t, 1, q.Len())
	})
}

func TestRunMayBeCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueNow(t, unlimited)
		var acted []string
		d, err := NewDispatcher(DispatcherConfig[Item[string, int], Result]{
			Core: q,
			Act: func(_ context.Context, item Item[string, int]) Result {
				time.Sleep(time.Second)
				acted = append(acted, item.Key)
				return Result{}
			},
		})
		require.NoError(t, err)
		for _, key := range []string{"a", "b", "c"} {
			d.Lock()
			q.Add(key, 0, time.Now()) // also while it does not run
			d.Unlock()
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			d.Run(ctx)
			cancel()
		}
		require.Equal(t, []string{"a", "b", "c"}, acted)
	})
}

func TestActSeesTheContextOfRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		q := queueNow(t, unlimited)
		var seen any
		d, err := NewDispatcher(DispatcherConfig[Item[string, int], Result]{
			Core: q,
			Act: func(ctx context.Context, _ Item[string, int]) Result {
				seen = ctx.Value(key{})
				return Result{}
			},
		})
		require.NoError(t, err)
		q.Add("a", 0, time.Now())
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "run"), time.Second)
		defer cancel()
		d.Run(ctx)
		require.Equal(t, "run", seen)
	})
}

// brokenCore promises work for now and never has any.
type brokenCore struct{ looks atomic.Int64 }

func (c *brokenCore) Start(time.Time) (int, bool)                  { c.looks.Add(1); return 0, false }
func (c *brokenCore) Finish(time.Time, int, int)                   {}
func (c *brokenCore) Next(now time.Time) (next time.Time, ok bool) { return now.Add(-time.Hour), true }

func TestCoreThatBreaksItsPromiseDoesNotTakeTheProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := &brokenCore{}
		d, err := NewDispatcher(DispatcherConfig[int, int]{
			Core: core, Act: func(context.Context, int) int { return 0 },
		})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		d.Run(ctx)
		require.LessOrEqual(t, core.looks.Load(), int64(1001))
	})
}

func TestInvalidDispatcherConfigIsRefused(t *testing.T) {
	core, err := New[string, int](Config{}, epoch)
	require.NoError(t, err)
	act := func(context.Context, Item[string, int]) Result { return Result{} }
	for name, config := range map[string]DispatcherConfig[Item[string, int], Result]{
		"no core":          {Act: act},
		"no action":        {Core: core},
		"negative workers": {Core: core, Act: act, Workers: -1},
	} {
		_, err := NewDispatcher(config)
		require.ErrorIs(t, err, ErrInvalidConfig, name)
	}
	_, err = NewDispatcher(DispatcherConfig[Item[string, int], Result]{Core: core, Act: act})
	require.NoError(t, err, "zero workers means one")
}
