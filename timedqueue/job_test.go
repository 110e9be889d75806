package timedqueue

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// spent is a result that tells how many requests its task has sent.
type spent int

func (s spent) Unspent(granted int) int { return granted - int(s) }

// A countCore has a number of tasks and keeps the results.
type countCore[R any] struct {
	left    int
	results []R
}

func (c *countCore[R]) Start(time.Time) (int, bool) {
	if c.left == 0 {
		return 0, false
	}
	c.left--
	return c.left, true
}

func (c *countCore[R]) Finish(_ time.Time, _ int, result R) { c.results = append(c.results, result) }

func (c *countCore[R]) Next(now time.Time) (time.Time, bool) { return now, c.left > 0 }

// Q15: two cores with tasks and results of their own types, and a queue, share
// one dispatcher. The results of each come back to it, and all are reported to
// one place.
func TestQ15OneDispatcherDrivesCoresOfDifferentTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		words, numbers := &countCore[string]{left: 3}, &countCore[float64]{left: 2}
		queue := newTestQueue(t, testConfig{})
		now := time.Now()
		queue.clock.epoch = now
		queue.Add("a", 1, now)
		var lock sync.Mutex
		var reported []string
		var queueDispatcher *Dispatcher
		queueDispatcher, err := NewJobDispatcher(
			InOrder(
				Jobs(words, func(_ context.Context, task int) string { return strings.Repeat("x", task) }),
				RoundRobin(
					Jobs(numbers, func(_ context.Context, task int) float64 { return float64(task) / 2 }),
					Jobs(queue, func(_ context.Context, _ Item[string, int]) Result {
						queueDispatcher.Update(func() {}) // outside the lock
						return Result{Outcome: OutcomeDone}
					}),
				),
			),
			DispatcherConfig{Finished: func(_ context.Context, f Finished) {
				lock.Lock()
				defer lock.Unlock()
				task, result := f.Task()
				reported = append(reported, fmt.Sprintf("%T %T %v", task, result, f.Err))
			}})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, queueDispatcher.Run(ctx))
		require.Equal(t, []string{"xx", "x", ""}, words.results)
		require.Equal(t, []float64{0.5, 0}, numbers.results)
		require.Zero(t, queue.Len())
		item := "timedqueue.Item[string,int] timedqueue.Result <nil>"
		require.Equal(t, []string{
			"int string <nil>", "int string <nil>", "int string <nil>",
			"int float64 <nil>", item, "int float64 <nil>",
		}, reported)
	})
}

// A throttle divides one budget among cores of different types. What a task has
// not spent comes back, if its result tells; else all is spent.
func TestQ15AThrottleSettlesTheJobsOfItsCores(t *testing.T) {
	for name, c := range map[string]struct {
		result spent
		starts int // in ten seconds, of a burst of 4 and one token a second
	}{
		"spends all": {4, 3}, "spends one": {1, 11}, "spends none": {0, 100},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				core := &countCore[spent]{left: 100}
				throttle, err := NewThrottle(ThrottleConfig{
					Limit: 1, Burst: 4,
					Kinds: []Kind{{
						Source: Jobs(core, func(context.Context, int) spent { return c.result }), Cost: 4,
					}},
				}, time.Now())
				require.NoError(t, err)
				d, err := NewJobDispatcher(throttle, DispatcherConfig{})
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
				defer cancel()
				require.NoError(t, d.Run(ctx))
				require.Len(t, core.results, c.starts)
			})
		})
	}
}

// A result that does not tell has spent all that its task was granted.
func TestQ15AResultThatDoesNotTellHasSpentItsGrant(t *testing.T) {
	core := &countCore[string]{left: 2}
	throttle, err := NewThrottle(ThrottleConfig{
		Limit: 1, Burst: 2,
		Kinds: []Kind{{Source: Jobs(core, func(context.Context, int) string { return "" }), Cost: 2}},
	}, epoch)
	require.NoError(t, err)
	started, ok := throttle.Start(epoch)
	require.True(t, ok)
	started.Perform(t.Context())
	started.Finish(epoch)
	_, ok = throttle.Start(at(1900 * time.Millisecond))
	require.False(t, ok)
	_, ok = throttle.Start(at(2 * time.Second))
	require.True(t, ok)
}

// An action that panics ends Run, whichever core its job is of, and that core
// gets the zero value of its results.
func TestQ15APanicIsAFailureOfItsCore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fine, broken := &countCore[string]{left: 1}, &countCore[Result]{left: 1}
		var errs []error
		d, err := NewJobDispatcher(InOrder(
			Jobs(fine, func(context.Context, int) string { return "fine" }),
			Jobs(broken, func(context.Context, int) Result { panic("broken") }),
		), DispatcherConfig{Finished: func(_ context.Context, f Finished) { errs = append(errs, f.Err) }})
		require.NoError(t, err)
		require.ErrorIs(t, d.Run(t.Context()), ErrPanic)
		require.Equal(t, []string{"fine"}, fine.results)
		require.Equal(t, []Result{{}}, broken.results)
		require.Len(t, errs, 2)
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], ErrPanic)
	})
}

// Q15: without a dispatcher a simulation drives the same jobs in virtual time,
// on one goroutine. One whose action has not run gives its core the zero value.
func TestQ15JobsRunInVirtualTimeWithoutADispatcher(t *testing.T) {
	core := &countCore[spent]{left: 3}
	throttle, err := NewThrottle(ThrottleConfig{
		Limit: 1, Burst: 2,
		Kinds: []Kind{{Source: Jobs(core, func(context.Context, int) spent { return 1 }), Cost: 2}},
	}, epoch)
	require.NoError(t, err)
	var starts []time.Duration
	for now := epoch; ; {
		if job, ok := throttle.Start(now); ok {
			starts = append(starts, now.Sub(epoch))
			require.Equal(t, 3-len(starts), job.Task())
			if len(starts) < 3 {
				job.Perform(t.Context())
			}
			job.Finish(now)
			continue
		}
		next, waits := throttle.Next(now)
		if !waits {
			break
		}
		now = next
	}
	require.Equal(t, []time.Duration{0, time.Second, 2 * time.Second}, starts, "one token of each came back")
	require.Equal(t, []spent{1, 1, 0}, core.results)
}

// Q7: a job allocates nothing once one has been under way.
func TestQ7JobsAllocateNothing(t *testing.T) {
	core := &countCore[Result]{left: 1000, results: make([]Result, 0, 2000)}
	jobs := Jobs(core, func(context.Context, int) Result { return Result{Outcome: OutcomeDone} })
	ctx := t.Context()
	allocations := testing.AllocsPerRun(500, func() {
		job, _ := jobs.Start(epoch)
		job.Perform(ctx)
		job.Finish(epoch)
	})
	require.Zero(t, allocations)
}

func TestJobDispatcherRefusesWhatIsMissing(t *testing.T) {
	_, err := NewJobDispatcher(nil, DispatcherConfig{Workers: -1})
	require.ErrorIs(t, err, ErrInvalidConfig)
	for _, problem := range []string{"jobs is nil", "Workers is -1"} {
		require.ErrorContains(t, err, problem)
	}
}

// A nil action is an error that names its tasks, not a panic when the first of
// them is due. So is a nil core, and a nil source among several.
func TestJobsWithoutAnActionAreRefused(t *testing.T) {
	queue := newTestQueue(t, unlimited)
	act := func(context.Context, Item[string, int]) Result { return done }
	sources := InOrder(
		Jobs(queue, act),
		RoundRobin(Jobs(&countCore[spent]{}, nil), nil),
		Jobs[Item[string, int], Result](nil, act),
	)
	_, err := NewJobDispatcher(sources, DispatcherConfig{})
	require.ErrorIs(t, err, ErrInvalidConfig)
	require.ErrorContains(t, err, "jobs of int: act is nil, want a function")
	require.ErrorContains(t, err, "source 1 of several is nil, want a source")
	require.ErrorContains(t, err, "jobs of timedqueue.Item[string,int]: core is nil, want a Core")

	_, err = NewThrottle(ThrottleConfig{Limit: 1, Kinds: []Kind{{Name: "a", Source: sources}}}, epoch)
	require.ErrorIs(t, err, ErrInvalidConfig)
	require.ErrorContains(t, err, `kind "a": `)
	require.ErrorContains(t, err, "jobs of int: act is nil, want a function")
}

// Two calls of Jobs for one core are an error, wherever they are: chance would
// say which of the actions performs a task.
func TestASecondCallOfJobsForACoreIsRefused(t *testing.T) {
	queue, other := newTestQueue(t, unlimited), newTestQueue(t, unlimited)
	act := func(context.Context, Item[string, int]) Result { return done }
	const problem = "jobs of timedqueue.Item[string,int]: core has jobs already"

	_, err := NewJobDispatcher(InOrder(Jobs(queue, act), Jobs(other, act)), DispatcherConfig{})
	require.NoError(t, err)
	_, err = NewJobDispatcher(
		InOrder(Jobs(queue, act), RoundRobin(Jobs(other, act), Jobs(queue, act))), DispatcherConfig{})
	require.ErrorContains(t, err, problem)

	kinds := []Kind{{Name: "a", Source: Jobs(queue, act)}, {Name: "b", Source: Jobs(queue, act)}}
	_, err = NewThrottle(ThrottleConfig{Limit: 1, Kinds: kinds}, epoch)
	require.ErrorContains(t, err, problem)
	throttle, err := NewThrottle(ThrottleConfig{Limit: 1, Kinds: kinds[:1]}, epoch)
	require.NoError(t, err)
	_, err = NewJobDispatcher(InOrder(throttle, Jobs(other, act)), DispatcherConfig{})
	require.NoError(t, err)
	_, err = NewJobDispatcher(InOrder(throttle, Jobs(queue, act)), DispatcherConfig{})
	require.ErrorContains(t, err, problem)
}

// A source of the caller's own that hands out the zero value of Job stops Run
// with an error that says so, from a poll or from a worker, with a throttle between
// or without.
func TestRunReturnsAnErrorForAJobOfNoSource(t *testing.T) {
	for name, c := range map[string]struct {
		throttled bool
		before    int // tasks that are fine
	}{
		"found by Run": {}, "found by a worker": {before: 1},
		"throttled, found by Run": {throttled: true}, "throttled, found by a worker": {throttled: true, before: 1},
	} {
		t.Run(name, func(t *testing.T) {
			core := &countCore[Result]{left: c.before}
			jobs := InOrder(
				Jobs(core, func(context.Context, int) Result { return done }),
				SourceOf(
					func(time.Time) (Job, bool) { return Job{}, true },
					func(now time.Time) (time.Time, bool) { return now, true },
				))
			if c.throttled {
				throttle, err := NewThrottle(ThrottleConfig{
					Limit: 1, Burst: 10, Kinds: []Kind{{Source: jobs}},
				}, time.Now())
				require.NoError(t, err)
				jobs = throttle
			}
			d, err := NewJobDispatcher(jobs, DispatcherConfig{})
			require.NoError(t, err)
			require.ErrorIs(t, d.Run(t.Context()), errZeroJob)
			require.Len(t, core.results, c.before)
		})
	}
}

// doubled is a queue whose values are handed out doubled.
type doubled struct {
	*Queue[string, int]
	finished int
}

func (d *doubled) Start(now time.Time) (Item[string, int], bool) {
	item, found := d.Queue.Start(now)
	item.Value *= 2
	return item, found
}

func (d *doubled) Finish(now time.Time, item Item[string, int], result Result) {
	d.finished++
	d.Queue.Finish(now, item, result)
}

// A core that embeds a queue may have a Start and a Finish of its own.
func TestCoreThatEmbedsAQueueIsAskedItself(t *testing.T) {
	core := &doubled{Queue: newTestQueue(t, unlimited)}
	core.Add("a", 2, at(0))
	var value int
	source := Jobs(core, func(_ context.Context, item Item[string, int]) Result {
		value = item.Value
		return done
	})
	job, found := source.Start(at(0))
	require.True(t, found)
	job.Perform(t.Context())
	job.Finish(at(0))
	require.Equal(t, 4, value)
	require.Equal(t, 1, core.finished)
	requireNothingLeft(t, core.Queue)
}
