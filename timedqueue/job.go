package timedqueue

import (
	"context"
	"time"
)

// A Job is a task that some core has handed out, with the action that performs
// it and the way of its result back to that core. So sources of tasks of
// different types can be composed: by [InOrder], [RoundRobin] and a
// [Throttle], as sources of jobs. A [Dispatcher] performs them.
//
// A simulation in virtual time needs no dispatcher: it calls Start of the
// source, and then Perform and Finish of the job, once each.
type Job struct {
	task   task
	settle func(now time.Time) // the tokens of a Throttle, nil if there are none
}

// Task returns the task, of the type of its core.
func (j Job) Task() any {
	task, _ := j.task.report()
	return task
}

// Perform runs the action of the job. It must not hold the lock of the cores.
func (j Job) Perform(ctx context.Context) { j.task.perform(ctx) }

// Finish gives what the throttle gets back to it, and the result to the core of
// the job. It needs the lock of the cores. The result of an action that did not
// run is the zero value. The job must not be used afterwards.
func (j Job) Finish(now time.Time) {
	if j.settle != nil {
		j.settle(now)
	}
	j.task.finish(now)
}

// task is a task of a core while it is under way.
type task interface {
	perform(ctx context.Context)
	finish(now time.Time)
	// report returns the task and its result, for logs and metrics.
	report() (task, result any)
	unspent(granted int) int
}

// Unspent is what a result can implement whose task may send fewer requests
// than a [Throttle] has granted it. Unspent returns how many of the granted
// tokens come back. Those of a task whose result does not implement it are
// spent.
type Unspent interface {
	Unspent(granted int) int
}

// Jobs returns the tasks of a core as jobs that act performs, for a
// [NewJobDispatcher]. The core takes the result of each.
func Jobs[T, R any](core Core[T, R], act func(ctx context.Context, task T) R) Source[Job] {
	return &jobs[T, R]{core: core, act: act}
}

// Throttled returns the jobs of a throttle as a source that settles the grant
// of each when it ends; see [Unspent].
func Throttled(throttle *Throttle[Job]) Source[Job] { return throttled{throttle} }

type jobs[T, R any] struct {
	core Core[T, R]
	act  func(context.Context, T) R
	free []*job[T, R] // for reuse, so that a task allocates nothing
}

func (s *jobs[T, R]) Start(now time.Time) (Job, bool) {
	started, ok := s.core.Start(now)
	if !ok {
		return Job{}, false
	}
	j := s.newJob()
	*j = job[T, R]{of: s, task: started}
	return Job{task: j}, true
}

func (s *jobs[T, R]) newJob() *job[T, R] {
	last := len(s.free) - 1
	if last < 0 {
		return new(job[T, R])
	}
	j := s.free[last]
	s.free = s.free[:last]
	return j
}

func (s *jobs[T, R]) Next(now time.Time) (time.Time, bool) { return s.core.Next(now) }

// job is a task of a core under way. The result is the zero value until the
// action has returned.
type job[T, R any] struct {
	of     *jobs[T, R]
	task   T
	result R
}

func (j *job[T, R]) perform(ctx context.Context) { j.result = j.of.act(ctx, j.task) }

func (j *job[T, R]) report() (any, any) { return j.task, j.result }

func (j *job[T, R]) unspent(granted int) int {
	if result, tells := any(j.result).(Unspent); tells {
		return result.Unspent(granted)
	}
	return 0
}

func (j *job[T, R]) finish(now time.Time) {
	s := j.of
	s.core.Finish(now, j.task, j.result)
	*j = job[T, R]{}
	s.free = append(s.free, j)
}

type throttled struct{ throttle *Throttle[Job] }

func (t throttled) Start(now time.Time) (Job, bool) {
	started, grant, ok := t.throttle.Start(now)
	if !ok {
		return Job{}, false
	}
	task, inner := started.task, started.settle
	started.settle = func(now time.Time) {
		if inner != nil {
			inner(now)
		}
		t.throttle.Settle(now, grant, task.unspent(grant.Tokens()))
	}
	return started, true
}

func (t throttled) Next(now time.Time) (time.Time, bool) { return t.throttle.Next(now) }
