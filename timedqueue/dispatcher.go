package timedqueue

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A Core hands out work and is told how each piece ended. [Queue] and [Group]
// are cores; a controller that composes several of them can be one itself.
type Core[T, R any] interface {
	// Start hands out one piece of work that may start now.
	Start(now time.Time) (T, bool)
	// Finish takes the result of a piece that Start has handed out.
	Finish(now time.Time, work T, result R)
	// Next returns when Start can next hand something out, and false when only a
	// change of the core makes a difference.
	Next(now time.Time) (time.Time, bool)
}

// DispatcherConfig is what a [Dispatcher] needs.
type DispatcherConfig[T, R any] struct {
	// Core decides what starts when. From then on it is touched only with the
	// Dispatcher locked. Required.
	Core Core[T, R]
	// Act does one piece of work, outside the lock, on one of the workers' goroutines.
	// Its context is that of Run: it has to return soon after that is cancelled.
	// Required.
	Act func(ctx context.Context, work T) R
	// Workers is how many calls of Act run at a time. Zero means 1.
	Workers int
}

// Validate reports the first thing that is wrong with the config.
func (c DispatcherConfig[T, R]) Validate() error {
	if c.Core == nil {
		return fmt.Errorf("%w: DispatcherConfig.Core is nil", ErrInvalidConfig)
	}
	if c.Act == nil {
		return fmt.Errorf("%w: DispatcherConfig.Act is nil", ErrInvalidConfig)
	}
	if c.Workers < 0 {
		return fmt.Errorf("%w: DispatcherConfig.Workers is %d, want zero or more", ErrInvalidConfig, c.Workers)
	}
	return nil
}

// A Dispatcher runs what a core hands out: the edge around a [Queue], a [Group]
// or any other [Core]. It sleeps until the next thing can start, and does not
// poll. It has one goroutine and, as far as there has been work for them, one for each
// worker: never more, whatever becomes due at once.
//
// It is also the core's lock. Whoever wants to change the core does so between
// Lock and Unlock, and Unlock makes the dispatcher look again:
//
//	d.Lock()
//	queue.Add("node-1", node, time.Now())
//	d.Unlock()
//
// The lock is held only while the core decides, never during an action.
type Dispatcher[T, R any] struct {
	act     func(context.Context, T) R
	workers int
	changed chan struct{}

	mu   sync.Mutex
	core Core[T, R]
	idle int // workers that could take an action
}

// NewDispatcher returns a dispatcher that does nothing until Run.
func NewDispatcher[T, R any](config DispatcherConfig[T, R]) (*Dispatcher[T, R], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Dispatcher[T, R]{
		act:     config.Act,
		workers: max(config.Workers, 1),
		changed: make(chan struct{}, 1),
		core:    config.Core,
		idle:    max(config.Workers, 1),
	}, nil
}

// Lock gives the caller the core.
func (d *Dispatcher[T, R]) Lock() { d.mu.Lock() }

// Unlock gives the core back and makes the dispatcher look at it again.
func (d *Dispatcher[T, R]) Unlock() {
	d.mu.Unlock()
	select {
	case d.changed <- struct{}{}:
	default: // a look is due already
	}
}

// Run starts what the core hands out until ctx ends, then waits for the actions
// under way and reports them to the core. It may be called again after it has
// returned, but not twice at a time.
func (d *Dispatcher[T, R]) Run(ctx context.Context) {
	team := team[T]{most: d.workers, pieces: make(chan T), work: func(work T) { d.finish(work, d.act(ctx, work)) }}
	defer team.end()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		work, started, wait := d.start()
		if started {
			team.give(work)
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-d.changed:
		case <-timer.C:
		}
	}
}

// A team is goroutines that do one piece of work after the other. A goroutine for
// each piece would be simpler; but one that has reported its result takes a moment to
// end, and on a busy machine many would be in that moment.
type team[T any] struct {
	most    int
	work    func(T)
	pieces  chan T
	size    int
	working sync.WaitGroup
}

// give gives a piece of work to somebody who has none. There must be one, or room for
// one more.
func (t *team[T]) give(piece T) {
	select {
	case t.pieces <- piece:
		return
	default:
	}
	if t.size == t.most {
		t.pieces <- piece // to one that has reported, and is about to ask for more
		return
	}
	t.size++
	t.working.Go(func() {
		t.work(piece)
		for next := range t.pieces {
			t.work(next)
		}
	})
}

// end returns when all work that was given is done.
func (t *team[T]) end() {
	close(t.pieces)
	t.working.Wait()
}

// start takes one piece of work or, when there is none, tells how long to sleep.
func (d *Dispatcher[T, R]) start() (work T, started bool, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now() // after the lock: waiting for it must not count
	if d.idle == 0 {
		return work, false, longest // the end of an action wakes us
	}
	if work, started = d.core.Start(now); started {
		d.idle--
		return work, true, 0
	}
	next, ok := d.core.Next(now)
	if !ok {
		return work, false, longest
	}
	wait = next.Sub(now)
	if wait <= 0 {
		return work, false, pause
	}
	return work, false, min(wait, longest)
}

func (d *Dispatcher[T, R]) finish(work T, result R) {
	d.Lock()
	defer d.Unlock()
	d.idle++
	d.core.Finish(time.Now(), work, result)
}

const (
	// longest stands for "until something changes".
	longest = time.Hour
	// pause keeps a core that promises work for now and then has none from using
	// up a processor. A short wait is no such case: a queue with a limit of 10,000
	// a second and a burst of one has to be looked at as often.
	pause = time.Millisecond
)
