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
	// Metrics counts what the dispatcher also logs. Nil means none.
	Metrics DispatcherMetrics
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

// A Dispatcher performs the tasks of any [Core]. It sleeps until the core can
// hand out a task and gives each task to a worker.
//
// While a worker is free, it polls the core at least every ten seconds. A clock
// that jumps, or a core whose Next is wrong, delays a task by no more than
// that.
//
// The dispatcher has the core's lock. Every use of the core, once Run may run,
// is inside a function that Update or View runs:
//
//	dispatcher.Update(func() { queue.Add("node-1", node, time.Now()) })
//
// Each of the two deadlocks when it is called inside the other, inside itself,
// or by the core. Actions run outside the lock and may call both.
//
// A dispatcher has one goroutine for itself, and at most one for each worker,
// however many tasks are due at once.
type Dispatcher[T, R any] struct {
	config  DispatcherConfig
	act     func(context.Context, T) R
	changed chan struct{}

	mu       sync.Mutex
	core     Core[T, R]
	idle     int   // workers without a task
	panicked error // of the first action whose panic stops Run
}

// NewDispatcher returns a dispatcher that drives core with act, which performs
// one task. It starts nothing before Run.
//
// The context of act ends with that of Run, and act must return soon after
// that. It also ends when a panic of another action stops Run.
func NewDispatcher[T, R any](
	core Core[T, R], act func(ctx context.Context, task T) R, config DispatcherConfig,
) (*Dispatcher[T, R], error) {
	var noCore, noAct error
	if core == nil {
		noCore = fmt.Errorf("%w: core is nil, want a Core", ErrInvalidConfig)
	}
	if act == nil {
		noAct = fmt.Errorf("%w: act is nil, want a function", ErrInvalidConfig)
	}
	if err := errors.Join(noCore, noAct, config.Validate()); err != nil {
		return nil, err
	}
	config.Workers = max(config.Workers, 1)
	if config.Metrics == nil {
		config.Metrics = noMetrics{}
	}
	return &Dispatcher[T, R]{
		config:  config,
		act:     act,
		changed: make(chan struct{}, 1),
		core:    core,
		idle:    config.Workers,
	}, nil
}

// Update runs change with the core locked, and then makes the dispatcher poll
// the core. It is for everything that may change the core.
func (d *Dispatcher[T, R]) Update(change func()) {
	defer d.wake()
	d.View(change)
}

// UpdateIf is Update, except that the dispatcher polls the core only if change
// returns true. It is for frequent changes that seldom let a task start
// earlier, for example heartbeats. A poll costs a switch to the goroutine of
// Run. A change that returns false must not make Next earlier.
func (d *Dispatcher[T, R]) UpdateIf(change func() (poll bool)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if change() {
		d.wake()
	}
}

// View runs read with the core locked. It is for what only reads the core, and
// does not wake the dispatcher.
func (d *Dispatcher[T, R]) View(read func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	read()
}

func (d *Dispatcher[T, R]) wake() {
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
// core is not recovered.
//
// Run may be called again after it has returned, but not twice at a time.
func (d *Dispatcher[T, R]) Run(ctx context.Context) error {
	d.dispatch(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.panicked
	d.panicked = nil
	return err
}

func (d *Dispatcher[T, R]) dispatch(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	workers := newWorkers(d.config.Workers, func(task T) { d.perform(ctx, task) })
	defer workers.end()
	defer stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		next := d.start()
		switch {
		case next.stop:
			return
		case next.started:
			workers.give(next.task)
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

// A step is what Run does next: start a task, wait, or stop.
type step[T any] struct {
	task    T
	started bool
	wait    time.Duration
	stop    bool
}

func (d *Dispatcher[T, R]) start() step[T] {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now() // waiting for the lock must not make it old
	if d.panicked != nil {
		return step[T]{stop: true}
	}
	if d.idle == 0 {
		return step[T]{wait: longestPoll} // the end of an action wakes Run
	}
	if task, ok := d.core.Start(now); ok {
		d.idle--
		return step[T]{task: task, started: true}
	}
	return step[T]{wait: d.wait(now)}
}

// wait returns how long the core need not be polled.
func (d *Dispatcher[T, R]) wait(now time.Time) time.Duration {
	next, ok := d.core.Next(now)
	if !ok {
		return longestPoll
	}
	wait := min(next.Sub(now), longestPoll)
	if wait <= 0 {
		return shortestSleep
	}
	return min(d.config.aligned(now, wait), longestPoll)
}

// perform runs one action and reports how it ended, also when it panics.
func (d *Dispatcher[T, R]) perform(ctx context.Context, task T) {
	var result R
	returned := false
	defer func() {
		var panicked error
		if !returned {
			panicked = recovered(ctx, d.config.Metrics, recover())
		}
		d.finish(task, result, panicked)
	}()
	result = d.act(ctx, task)
	returned = true
}

func (d *Dispatcher[T, R]) finish(task T, result R, panicked error) {
	d.Update(func() {
		d.idle++
		if d.panicked == nil {
			d.panicked = panicked
		}
		d.core.Finish(time.Now(), task, result)
	})
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
