package timedqueue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Core hands out tasks and takes their results. A queue is a core. A
// controller that composes several cores can be one too; see [InOrder].
type Core[T, R any] interface {
	// Start hands out a task that may start now.
	Start(now time.Time) (T, bool)
	// Finish takes the result of a task that Start has handed out. The zero value
	// of R must not count as success: it is the result of an action that panics.
	Finish(now time.Time, task T, result R)
	// Next returns when Start can next hand out a task, and false when only a
	// change of the core makes a difference.
	Next(now time.Time) (time.Time, bool)
}

// DispatcherConfig says how a [Dispatcher] runs actions. Its zero value is
// valid.
type DispatcherConfig struct {
	// Workers is how many actions run at a time. Zero means 1.
	Workers int
	// Slack is by how much a task may start late when only time makes it due. What
	// is due within a Slack then starts in one poll, at a time that dispatchers of
	// this Slack have in common. After a change the core is polled at once.
	//
	// It is for thousands of small tasks whose time does not matter much. For
	// each that wakes an idle process by itself, that can cost more than the task.
	// A limit must have a burst of what it admits in a Slack, or it admits less.
	// Zero means that no task is late.
	Slack time.Duration
	// Finished is called with each task whose action has ended, before its core
	// takes the result. It is the one place for logs and metrics of all cores.
	// Several goroutines call it at a time, outside the lock. Nil means none.
	Finished func(ctx context.Context, finished Finished)
}

// Validate joins all that is wrong with the config.
func (c DispatcherConfig) Validate() error {
	var workers, slack error
	if c.Workers < 0 {
		workers = fmt.Errorf("%w: DispatcherConfig.Workers is %d, want zero or more",
			ErrInvalidConfig, c.Workers)
	}
	if c.Slack < 0 {
		slack = fmt.Errorf("%w: DispatcherConfig.Slack is %v, want zero or more",
			ErrInvalidConfig, c.Slack)
	}
	return errors.Join(workers, slack)
}

// aligned lengthens a wait until the next time that dispatchers of this Slack
// have in common.
func (c DispatcherConfig) aligned(now time.Time, wait time.Duration) time.Duration {
	if c.Slack == 0 {
		return wait
	}
	at := now.Add(wait)
	if past := at.Sub(at.Truncate(c.Slack)); past > 0 {
		wait += c.Slack - past
	}
	return wait
}

// Finished is a task whose action has ended.
type Finished struct {
	Started, Ended time.Time
	// Err is nil if the action has returned. It wraps [ErrPanic] or is [ErrExited].
	Err  error
	task task
}

// Task returns the task and its result, of the types of its core. The result of
// an action that did not return is the zero value.
func (f Finished) Task() (task, result any) { return f.task.report() }

// A Dispatcher performs the tasks of a [Core], or of several whose types differ;
// see [NewJobDispatcher]. It sleeps until a core can hand out a task and gives
// the task to a worker. When the action ends, the worker takes the next task in
// the turn under the lock in which it gives the result to the core.
//
// While a worker is free, it polls the core at least every ten seconds. A clock
// that jumps, or a core whose Next is wrong, delays a task by no more than
// that.
//
// The dispatcher has the lock of its cores. Every use of a core, once Run may
// run, is inside a function that Update or View runs:
//
//	dispatcher.Update(func() { queue.Add("node-1", node, time.Now()) })
//
// Each of the two deadlocks when it is called inside the other, inside itself,
// or by the core. Actions run outside the lock and may call both.
//
// A dispatcher has one goroutine for itself, and at most one for each worker,
// however many tasks are due at once.
type Dispatcher struct {
	config  DispatcherConfig
	changed chan struct{}

	mu     sync.Mutex
	jobs   Source[Job]
	idle   int   // workers without a task
	broken error // what stops Run first: a panic of an action, or a job without one
}

// NewDispatcher returns a dispatcher that drives core with act, which performs
// one task. It starts nothing before Run.
//
// The context of act ends with that of Run, and act must return soon after
// that. It also ends when a panic of another action stops Run.
func NewDispatcher[T, R any](
	core Core[T, R], act func(ctx context.Context, task T) R, config DispatcherConfig,
) (*Dispatcher, error) {
	return NewJobDispatcher(Jobs(core, act), config)
}

// NewJobDispatcher returns a dispatcher for several cores, each with tasks and
// results of its own types, under one lock. The source composes the [Jobs] of
// the cores and so says whose turn it is. What NewDispatcher says of act holds
// for the actions of all jobs. An action that is nil is an error here, unless it
// is behind a source of the caller's own type.
func NewJobDispatcher(jobs Source[Job], config DispatcherConfig) (*Dispatcher, error) {
	err := errors.Join(validateSource("jobs", jobs, make(map[any]bool)), config.Validate())
	if err != nil {
		return nil, err
	}
	config.Workers = max(config.Workers, 1)
	return &Dispatcher{
		config:  config,
		changed: make(chan struct{}, 1),
		jobs:    jobs,
		idle:    config.Workers,
	}, nil
}

// Update runs change with the core locked, and then makes the dispatcher poll
// the core. It is for everything that may change the core.
func (d *Dispatcher) Update(change func()) {
	defer d.wake()
	d.View(change)
}

// UpdateIf is Update, except that the dispatcher polls the core only if change
// returns true. It is for frequent changes that seldom let a task start
// earlier, for example heartbeats. A poll costs a switch to the goroutine of
// Run. A change that returns false must not make Next earlier.
func (d *Dispatcher) UpdateIf(change func() (poll bool)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if change() {
		d.wake()
	}
}

// View runs read with the core locked. It is for what only reads the core, and
// does not wake the dispatcher.
func (d *Dispatcher) View(read func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	read()
}

func (d *Dispatcher) wake() {
	select {
	case d.changed <- struct{}{}:
	default: // a poll is due already
	}
}

// Run starts what the core hands out until ctx ends, then waits for the actions
// under way, reports them to the core, and returns nil.
//
// A panic in an action is logged with its stack and reported to the core as the
// zero value of R. Run then stops as if ctx had ended: what a broken action has
// left behind is not known. It returns an error that wraps [ErrPanic], and the
// value of the panic if that is an error. An action that calls runtime.Goexit
// is logged and reported the same way, but does not stop Run. A panic in the
// core is not recovered. A source that hands out the zero value of Job stops Run
// with an error, too.
//
// Run may be called again after it has returned, but not twice at a time.
func (d *Dispatcher) Run(ctx context.Context) error {
	d.dispatch(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.broken
	d.broken = nil
	return err
}

func (d *Dispatcher) dispatch(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	workers := newWorkers(d.config.Workers, func(first started) { d.work(ctx, first) })
	defer workers.end()
	defer stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		next := d.poll()
		switch {
		case next.stop:
			return
		case next.found:
			workers.give(next.started)
			continue
		}
		timer.Reset(next.wait)
		select {
		case <-ctx.Done():
		case <-d.changed:
		case <-timer.C:
		}
	}
}

// started is a job that the core has handed out, and when it did.
type started struct {
	job Job
	at  time.Time
}

// A step is what Run does next: give a job to a worker, wait, or stop.
type step struct {
	started
	found bool
	wait  time.Duration
	stop  bool
}

func (d *Dispatcher) poll() step {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle == 0 {
		return step{wait: longestPoll} // a worker that becomes idle wakes Run
	}
	now := time.Now() // waiting for the lock must not make it old
	job, found := d.startJob(now)
	switch {
	case d.broken != nil:
		return step{stop: true}
	case found:
		d.idle--
		return step{started: started{job, now}, found: true}
	}
	return step{wait: d.wait(now)}
}

// errZeroJob is what is wrong with a source that a caller has written.
var errZeroJob = errors.New("a source handed out the zero value of Job, want a job of Jobs")

// startJob starts a job unless Run is to stop.
func (d *Dispatcher) startJob(now time.Time) (job Job, found bool) {
	if d.broken != nil {
		return Job{}, false
	}
	job, found = d.jobs.Start(now)
	if found && job.task == nil {
		d.broken = errZeroJob
		return Job{}, false
	}
	return job, found
}

// wait returns how long the core need not be polled.
func (d *Dispatcher) wait(now time.Time) time.Duration {
	next, ok := d.jobs.Next(now)
	if !ok {
		return longestPoll
	}
	wait := min(next.Sub(now), longestPoll)
	if wait <= 0 {
		return shortestSleep
	}
	return min(d.config.aligned(now, wait), longestPoll)
}

// work performs a job, and then others until none can start. It reports how each
// action ended, also one that panics.
func (d *Dispatcher) work(ctx context.Context, next started) {
	acting := false
	defer func() {
		if acting { // it has not returned
			d.end(ctx, next, recovered(ctx, recover()))
		}
	}()
	for more := true; more; {
		acting = true
		next.job.Perform(ctx)
		acting = false
		next, more = d.end(ctx, next, nil)
	}
}

// end gives the result of an action to the core. If the action has returned, its
// worker performs the next job. To leave that to Run would cost another turn
// under the lock and two switches between goroutines.
func (d *Dispatcher) end(ctx context.Context, s started, err error) (next started, more bool) {
	if d.config.Finished != nil {
		d.config.Finished(ctx, Finished{s.at, time.Now(), err, s.job.task})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && d.broken == nil && errors.Is(err, ErrPanic) {
		d.broken = err
	}
	next.at = time.Now() // waiting for the lock must not make it old
	s.job.Finish(next.at)
	if err == nil && ctx.Err() == nil {
		next.job, more = d.startJob(next.at)
	}
	if !more {
		d.idle++
	}
	if d.idle > 0 { // the core has changed, and another worker is free
		d.wake()
	}
	return next, more
}

const (
	// longestPoll is the longest time between two polls of a core. It bounds the
	// delay after a wrong Next or a jump of the wall clock.
	longestPoll = 10 * time.Second
	// shortestSleep bounds the processor time of a core that promises a task for
	// now and has none. It does not lengthen a short wait: a queue with 10,000
	// tokens a second and a burst of one needs as many polls.
	shortestSleep = time.Millisecond
)
