package timedqueue

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// A Job is a task that some core has handed out, with the action that performs
// it and the way of its result back to that core. So sources of tasks of
// different types can be composed: by [InOrder], [RoundRobin] and a
// [Throttle], as sources of jobs. A [Dispatcher] performs them.
//
// A simulation in virtual time needs no dispatcher: it calls Start of the
// source, and then Perform and Finish of the job, once each.
type Job struct{ task task }

// Task returns the task, of the type of its core.
func (j Job) Task() any {
	task, _ := j.task.report()
	return task
}

// Perform runs the action of the job. It must not hold the lock of the cores.
func (j Job) Perform(ctx context.Context) { j.task.perform(ctx) }

// Finish gives the unspent tokens back to a throttle, and the result to the core
// of the job. It needs the lock of the cores. The result of an action that did
// not run is the zero value. The job must not be used afterwards.
func (j Job) Finish(now time.Time) { j.task.finish(now) }

// task is a task of a core while it is under way.
type task interface {
	perform(ctx context.Context)
	finish(now time.Time)
	// report returns the task and its result, for logs and metrics.
	report() (task, result any)
	// charge records that a throttle has granted it tokens.
	charge(tokens grantedTokens)
}

// Unspent is what a result can implement whose task may send fewer requests
// than a [Throttle] has granted it. Unspent returns how many of the granted
// tokens come back. Those of a task whose result does not implement it are
// spent.
type Unspent interface {
	Unspent(granted int) int
}

// Jobs returns the tasks of a core as jobs that act performs, for a
// [NewJobDispatcher]. The core takes the result of each. Neither may be nil, and
// no core may have two calls of Jobs, because chance would then say which act
// performs a task. NewJobDispatcher and [NewThrottle] return an error that names
// the tasks.
func Jobs[T, R any](core Core[T, R], act func(ctx context.Context, task T) R) Source[Job] {
	return &jobs[T, R]{core: core, tasks: inPlaceOf(core), act: act}
}

type jobs[T, R any] struct {
	core  Core[T, R]
	tasks inPlace[T, R] // of core
	act   func(context.Context, T) R
	free  []*job[T, R] // for reuse, so that a task allocates nothing
}

func (s *jobs[T, R]) Start(now time.Time) (Job, bool) {
	j := s.newJob()
	if !s.tasks.startTask(now, &j.task) {
		s.free = append(s.free, j)
		return Job{}, false
	}
	return Job{task: j}, true
}

func (s *jobs[T, R]) validate(cores map[any]bool) error {
	var problems []error
	complain := func(problem string) {
		problems = append(problems,
			fmt.Errorf("%w: jobs of %v: %s", ErrInvalidConfig, reflect.TypeFor[T](), problem))
	}
	switch {
	case s.core == nil:
		complain("core is nil, want a Core")
	case !reflect.ValueOf(s.core).Comparable(): // nothing tells it from another
	case cores[s.core]:
		complain("core has jobs already, want one call of Jobs for each core")
	default:
		cores[s.core] = true
	}
	if s.act == nil {
		complain("act is nil, want a function")
	}
	return errors.Join(problems...)
}

func (s *jobs[T, R]) newJob() *job[T, R] {
	last := len(s.free) - 1
	if last < 0 {
		return &job[T, R]{of: s}
	}
	j := s.free[last]
	s.free = s.free[:last]
	return j
}

func (s *jobs[T, R]) Next(now time.Time) (time.Time, bool) { return s.core.Next(now) }

// job is a task of a core under way. The result is the zero value until the
// action has returned.
type job[T, R any] struct {
	of      *jobs[T, R]
	task    T
	result  R
	charges []grantedTokens
}

func (j *job[T, R]) perform(ctx context.Context) { j.result = j.of.act(ctx, j.task) }

func (j *job[T, R]) report() (any, any) { return j.task, j.result }

func (j *job[T, R]) unspent(granted int) int {
	if result, tells := any(j.result).(Unspent); tells {
		return result.Unspent(granted)
	}
	return 0
}

func (j *job[T, R]) charge(tokens grantedTokens) { j.charges = append(j.charges, tokens) }

func (j *job[T, R]) finish(now time.Time) {
	for _, granted := range j.charges {
		granted.settle(now, j.unspent(granted.tokens))
	}
	s := j.of
	s.tasks.finishTask(now, &j.task, &j.result)
	var none R
	j.result, j.charges = none, j.charges[:0]
	s.free = append(s.free, j)
}

// inPlace is a [Core] whose tasks and results stay where they are. To copy those
// of a queue through Start and Finish would cost half as much as the queue.
type inPlace[T, R any] interface {
	startTask(now time.Time, task *T) bool
	finishTask(now time.Time, task *T, result *R)
	// core returns the core itself.
	core() any
}

// inPlaceOf returns a core as one whose tasks stay in place. A type that embeds
// a queue has the queue's methods, and may have a Start or Finish of its own.
// So it must be asked for those.
func inPlaceOf[T, R any](core Core[T, R]) inPlace[T, R] {
	if quick, is := core.(inPlace[T, R]); is && quick.core() == any(core) {
		return quick
	}
	return copying[T, R]{core}
}

// copying is any core.
type copying[T, R any] struct{ of Core[T, R] }

func (c copying[T, R]) startTask(now time.Time, task *T) (found bool) {
	*task, found = c.of.Start(now)
	return found
}

func (c copying[T, R]) finishTask(now time.Time, task *T, result *R) {
	c.of.Finish(now, *task, *result)
}

func (c copying[T, R]) core() any { return c.of }
