package timedqueue

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// turnsCore hands out numbers, and more of them with each result. It records
// when it was called.
type turnsCore struct {
	tasks             []int
	opens             []int // by the next result
	started, finished []time.Time
}

func (c *turnsCore) Start(now time.Time) (task int, ok bool) {
	if len(c.tasks) == 0 {
		return 0, false
	}
	c.started = append(c.started, now)
	task, c.tasks = c.tasks[0], c.tasks[1:]
	return task, true
}

func (c *turnsCore) Finish(now time.Time, _ int, _ Result) {
	c.finished = append(c.finished, now)
	c.tasks, c.opens = append(c.tasks, c.opens...), nil
}

func (c *turnsCore) Next(now time.Time) (time.Time, bool) { return now, len(c.tasks) > 0 }

// A worker gives its result and takes its next task in one turn under the lock,
// for which the clock is read once.
func TestAWorkerTakesItsNextTaskInTheTurnOfItsResult(t *testing.T) {
	core := &turnsCore{tasks: []int{1, 2, 3, 4}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var acted []int
	d, err := NewDispatcher(core, func(_ context.Context, task int) Result {
		if acted = append(acted, task); task == 4 {
			stop()
		}
		return actionDone
	}, DispatcherConfig{})
	require.NoError(t, err)
	require.NoError(t, d.Run(ctx))
	require.Equal(t, []int{1, 2, 3, 4}, acted)
	require.Equal(t, core.finished[:3], core.started[1:])
}

// A result may let several tasks start. Its worker takes one of them, and those
// that are free the others.
func TestAResultOpensTasksForAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := &turnsCore{tasks: []int{1}, opens: []int{2, 3}}
		acted, began := 0, time.Now()
		var mu sync.Mutex
		run(t, core, 3, func(context.Context, int) Result {
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			acted++
			return actionDone
		})
		sleep(2*time.Second + time.Millisecond)
		require.Equal(t, 3, acted)
		require.True(t, slices.Contains(core.finished, began.Add(2*time.Second)))
	})
}

// After a panic, a worker whose action returns takes no other task.
func TestQ11AfterAPanicNoWorkerTakesATask(t *testing.T) {
	core := &turnsCore{tasks: []int{1, 2}}
	d, err := NewDispatcher(core, func(context.Context, int) Result { return actionDone }, DispatcherConfig{})
	require.NoError(t, err)
	first := d.poll()
	require.True(t, first.found)
	d.broken = ErrPanic
	_, more := d.end(t.Context(), first.started, nil)
	require.False(t, more)
	require.Len(t, core.started, 1)
	require.Equal(t, 1, d.idle)
}
