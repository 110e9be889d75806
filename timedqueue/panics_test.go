package timedqueue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// A listCore hands out its tasks in order, at once, and keeps the results.
type listCore struct {
	tasks    []string
	finished []string
}

func (c *listCore) Start(time.Time) (string, bool) {
	if len(c.tasks) == 0 {
		return "", false
	}
	task := c.tasks[0]
	c.tasks = c.tasks[1:]
	return task, true
}

func (c *listCore) Finish(_ time.Time, task string, result listResult) {
	c.finished = append(c.finished, fmt.Sprintf("%s: %s", task, result))
}

func (c *listCore) Next(now time.Time) (time.Time, bool) { return now, len(c.tasks) > 0 }

type listResult string

// counts are the actions that a dispatcher reports to have not returned.
type counts struct{ panicked, exited atomic.Int64 }

func (c *counts) finished(_ context.Context, finished Finished) {
	switch {
	case errors.Is(finished.Err, ErrPanic):
		c.panicked.Add(1)
	case errors.Is(finished.Err, ErrExited):
		c.exited.Add(1)
	}
}

// A logText takes log lines of several goroutines.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logText) String() string { return l.text.String() }

// A panicking is a dispatcher whose actions do not all return.
type panicking struct {
	core    *listCore
	metrics counts
	log     logText
	config  DispatcherConfig
	// ran is how long Run took.
	ran time.Duration
}

// run runs the dispatcher for an hour, unless it stops before.
func (p *panicking) run(t *testing.T, act func(ctx context.Context, task string) listResult) error {
	t.Helper()
	p.config.Finished = p.metrics.finished
	d, err := NewDispatcher(p.core, act, p.config)
	require.NoError(t, err)
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&p.log)))
	ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), logger), time.Hour)
	defer cancel()
	began := time.Now()
	err = d.Run(ctx)
	p.ran = time.Since(began)
	// A goroutine that has nothing left to do takes a moment to end.
	for range 1000 {
		if !strings.Contains(stacks(), "timedqueue.(*workers") {
			break
		}
		synctest.Wait()
		runtime.Gosched()
	}
	require.NotContains(t, stacks(), "timedqueue.(*workers", "all goroutines have ended")
	return err
}

// stacks returns the stacks of all goroutines. For a moment,
// runtime.NumGoroutine still counts one that has ended, and synctest.Wait does
// not wait for that.
func stacks() string {
	text := make([]byte, 1<<20)
	return string(text[:runtime.Stack(text, true)])
}

var errBroken = errors.New("broken")

// explode is where an action panics; the log shows its name.
func explode(value any) { panic(value) }

func TestQ11APanicIsAFailure(t *testing.T) {
	for name, value := range map[string]any{"text": "broken", "error": errBroken, "nil": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &panicking{core: &listCore{tasks: []string{"a", "b"}}}
				err := p.run(t, func(context.Context, string) listResult {
					explode(value)
					return "done"
				})
				require.ErrorIs(t, err, ErrPanic)
				if value != nil {
					require.ErrorContains(t, err, "broken")
				}
				require.Equal(t, name == "error", errors.Is(err, errBroken))
				require.Equal(t, []string{"a: "}, p.core.finished, "the zero value")
				require.Equal(t, []string{"b"}, p.core.tasks, "nothing more starts")
				require.Zero(t, p.ran)
				require.Equal(t, int64(1), p.metrics.panicked.Load())
				require.Contains(t, p.log.String(), "action panicked")
				require.Contains(t, p.log.String(), "timedqueue.explode")
			})
		})
	}
}

func TestQ11AfterAPanicTheActionsUnderWayAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &panicking{
			core:   &listCore{tasks: []string{"a", "panics", "b", "c"}},
			config: DispatcherConfig{Workers: 3},
		}
		err := p.run(t, func(ctx context.Context, task string) listResult {
			if task == "panics" {
				time.Sleep(time.Second)
				panic("broken")
			}
			<-ctx.Done() // as when Run's context ends
			time.Sleep(time.Second)
			return "done"
		})
		require.ErrorIs(t, err, ErrPanic)
		require.Equal(t, 2*time.Second, p.ran)
		slices.Sort(p.core.finished)
		require.Equal(t, []string{"a: done", "b: done", "panics: "}, p.core.finished)
		require.Equal(t, []string{"c"}, p.core.tasks)
	})
}

func TestQ11APanicWhileRunEndsIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &panicking{core: &listCore{tasks: []string{"a"}}}
		err := p.run(t, func(ctx context.Context, _ string) listResult {
			<-ctx.Done()
			panic("broken")
		})
		require.ErrorIs(t, err, ErrPanic)
		require.Equal(t, []string{"a: "}, p.core.finished)
	})
}

func TestQ11RunCanBeCalledAgainAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := &listCore{tasks: []string{"a", "b"}}
		d, err := NewDispatcher(core, func(_ context.Context, task string) listResult {
			if task == "a" {
				panic("broken")
			}
			return "done"
		}, DispatcherConfig{})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), klog.Logger{}), time.Minute)
		defer cancel()
		require.ErrorIs(t, d.Run(ctx), ErrPanic)
		require.NoError(t, d.Run(ctx))
		require.Equal(t, []string{"a: ", "b: done"}, core.finished)
	})
}

func TestQ11AGoexitFreesItsWorker(t *testing.T) {
	for _, workers := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			p := &panicking{
				core:   &listCore{tasks: []string{"a", "b", "c", "d"}},
				config: DispatcherConfig{Workers: workers},
			}
			require.NoError(t, p.run(t, func(_ context.Context, task string) listResult {
				if task != "d" {
					runtime.Goexit()
				}
				return "done"
			}))
			slices.Sort(p.core.finished)
			require.Equal(t, []string{"a: ", "b: ", "c: ", "d: done"}, p.core.finished)
			require.Equal(t, int64(3), p.metrics.exited.Load())
			require.Zero(t, p.metrics.panicked.Load())
			require.Equal(t, 3, strings.Count(p.log.String(), "action called runtime.Goexit"))
			require.Contains(t, p.log.String(), "TestQ11AGoexitFreesItsWorker", "its stack")
		})
	}
}

// A panickingCore panics in one of its methods, after a task was handed out.
type panickingCore struct {
	listCore
	in string
}

func (c *panickingCore) Start(now time.Time) (string, bool) {
	if c.in == "Start" && len(c.tasks) == 0 {
		panic("in Start")
	}
	return c.listCore.Start(now)
}

func (c *panickingCore) Next(now time.Time) (time.Time, bool) {
	if c.in == "Next" {
		panic("in Next")
	}
	return c.listCore.Next(now)
}

func (c *panickingCore) Finish(now time.Time, task string, result listResult) {
	if c.in == "Finish" {
		panic("in Finish")
	}
	c.listCore.Finish(now, task, result)
}

func (c *panickingCore) run(ctx context.Context, t *testing.T) error {
	t.Helper()
	d, err := NewDispatcher(c, func(ctx context.Context, _ string) listResult {
		if c.in != "Finish" {
			<-ctx.Done()
		}
		return "done"
	}, DispatcherConfig{Workers: 2})
	require.NoError(t, err)
	return d.Run(ctx)
}

func TestQ11APanicOfTheCoreIsNotSwallowed(t *testing.T) {
	for _, in := range []string{"Start", "Next"} {
		synctest.Test(t, func(t *testing.T) {
			core := &panickingCore{listCore{tasks: []string{"a"}}, in}
			require.PanicsWithValue(t, "in "+in, func() { _ = core.run(t.Context(), t) })
			require.Equal(t, []string{"a: done"}, core.finished, "what was under way is reported")
		})
	}
}

// A panic in Finish is on the goroutine of a worker, where it ends the process.
func TestQ11APanicInFinishEndsTheProcess(t *testing.T) {
	const child = "TIMEDQUEUE_TEST_PANIC_IN_FINISH"
	if os.Getenv(child) != "" {
		core := &panickingCore{listCore{tasks: []string{"a"}}, "Finish"}
		_ = core.run(t.Context(), t)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	program := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
	program.Env = append(os.Environ(), child+"=yes")
	out, err := program.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "panic: in Finish")
}

// Actions end in every way while others change the core, and none is lost.
func TestQ11EveryActionIsReportedOnceHoweverItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers, each = 4, 500
		core := &listCore{}
		d, err := NewDispatcher(core, func(_ context.Context, task string) listResult {
			time.Sleep(time.Duration(len(task)) * time.Microsecond)
			switch len(task) % 3 {
			case 0:
				panic("broken")
			case 1:
				runtime.Goexit()
			}
			return "done"
		}, DispatcherConfig{Workers: 3})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), klog.Logger{}), time.Hour)
		defer cancel()
		var adding sync.WaitGroup
		for range callers {
			adding.Go(func() {
				for i := range each {
					d.Update(func() { core.tasks = append(core.tasks, strings.Repeat("x", 1+i%9)) })
					time.Sleep(time.Microsecond)
				}
			})
		}
		for ctx.Err() == nil {
			if err := d.Run(ctx); err != nil {
				require.ErrorIs(t, err, ErrPanic)
			}
		}
		adding.Wait()
		require.Empty(t, core.tasks)
		require.Len(t, core.finished, callers*each)
	})
}
