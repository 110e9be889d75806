package timedqueue

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var _ Core[Item[string, int], Result] = (*Queue[string, int])(nil)

func TestRunReturnsWhenAllThatItStartedHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueNow(t, unlimited)
		var ended atomic.Int64
		d, err := NewDispatcher(q, func(ctx context.Context, item Item[string, int]) Result {
			<-ctx.Done()
			time.Sleep(time.Duration(item.Value) * time.Second) // it takes its time
			ended.Add(1)
			return [...]Result{actionDone, actionSkipped, actionFailed}[item.Value]
		}, DispatcherConfig{Workers: 3})
		require.NoError(t, err)
		for i := range 10 {
			q.Add(fmt.Sprint(i), i, time.Now())
		}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Minute, cancel)
		require.NoError(t, d.Run(ctx))

		require.Equal(t, time.Minute+2*time.Second, time.Since(began))
		require.Equal(t, int64(3), ended.Load(), "nothing starts after the end of the context")
		// 0 was done, 1 was skipped, 2 has failed and is back; 3 to 9 never ran.
		require.Equal(t, 8, q.Len())
		failed, ok := q.Get("2")
		require.True(t, ok)
		require.Equal(t, 1, failed.Attempts, "the last results were reported")
	})
}

func TestRunUnderACancelledContextStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueNow(t, unlimited)
		core := &countingCore{Core: q}
		q.Add("a", 0, time.Now())
		act := func(context.Context, Item[string, int]) Result { panic("acted") }
		d, err := NewDispatcher(core, act, DispatcherConfig{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, d.Run(ctx))
		require.Zero(t, core.starts.Load())
		require.Equal(t, 1, q.Len())
	})
}

func TestRunMayBeCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueNow(t, unlimited)
		var acted []string
		d, err := NewDispatcher(q, func(_ context.Context, item Item[string, int]) Result {
			time.Sleep(time.Second)
			acted = append(acted, item.Key)
			return actionDone
		}, DispatcherConfig{})
		require.NoError(t, err)
		for _, key := range []string{"a", "b", "c"} {
			d.Update(func() { q.Add(key, 0, time.Now()) }) // also while it does not run
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			require.NoError(t, d.Run(ctx))
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
		d, err := NewDispatcher(q, func(ctx context.Context, _ Item[string, int]) Result {
			seen = ctx.Value(key{})
			return actionDone
		}, DispatcherConfig{})
		require.NoError(t, err)
		q.Add("a", 0, time.Now())
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "run"), time.Second)
		defer cancel()
		require.NoError(t, d.Run(ctx))
		require.Equal(t, "run", seen)
	})
}

// brokenCore promises a task for now and never has any.
type brokenCore struct{ looks atomic.Int64 }

func (c *brokenCore) Start(time.Time) (int, bool) {
	c.looks.Add(1)
	return 0,
		false
}
func (c *brokenCore) Finish(time.Time, int, int) {}
func (c *brokenCore) Next(now time.Time) (next time.Time, ok bool) {
	return now.Add(-time.Hour),
		true
}

func TestCoreThatBreaksItsPromiseDoesNotTakeTheProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := &brokenCore{}
		d, err := NewDispatcher(core, func(context.Context, int) int { return 0 }, DispatcherConfig{})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, d.Run(ctx))
		require.LessOrEqual(t, core.looks.Load(), int64(1001))
	})
}

// The types are inferred from a core of any shape and from the action.
func TestNewDispatcherInfersItsTypes(t *testing.T) {
	act := func(context.Context, Item[string, int]) Result { return actionDone }
	q := queueNow(t, unlimited)
	_, err := NewDispatcher(q, act, DispatcherConfig{})
	require.NoError(t, err)
	_, err = NewDispatcher(Core[Item[string, int], Result](q), act, DispatcherConfig{})
	require.NoError(t, err)
	_, err = NewDispatcher(&countingCore{Core: q}, act, DispatcherConfig{})
	require.NoError(t, err)
}

func TestInvalidDispatcherIsRefusedWithAllThatIsWrong(t *testing.T) {
	act := func(context.Context, Item[string, int]) Result { return actionDone }
	_, err := NewDispatcher(nil, act, DispatcherConfig{})
	require.ErrorIs(t, err, ErrInvalidConfig)
	_, err = NewDispatcher[Item[string, int], Result](queueNow(t, unlimited), nil, DispatcherConfig{})
	require.ErrorIs(t, err, ErrInvalidConfig)
	require.ErrorIs(t, DispatcherConfig{Workers: -1}.Validate(), ErrInvalidConfig)

	_, err = NewDispatcher[int, int](nil, nil, DispatcherConfig{Workers: -1})
	require.ErrorIs(t, err, ErrInvalidConfig)
	problems := strings.Split(err.Error(), "\n")
	require.Len(t, problems, 3)
	require.Contains(t, problems[0], "core is nil")
	require.Contains(t, problems[1], "act is nil")
	require.Contains(t, problems[2], "DispatcherConfig.Workers is -1, want zero or more")

	require.NoError(t, DispatcherConfig{}.Validate())
	_, err = NewDispatcher(queueNow(t, unlimited), act, DispatcherConfig{})
	require.NoError(t, err, "zero workers means one")
}
