package eviction

import (
	"fmt"
	"iter"
	"time"

	"golang.org/x/time/rate"

	"github.com/kubelife/lifecycle/timedqueue"
)

// SchedulerConfig is what a [Scheduler] needs. The zero value is complete.
type SchedulerConfig[V any] struct {
	// Budgets limit how fast keys are handed out. None is no limit.
	Budgets []BudgetOf[V]
	// First orders keys that are due at the same time. Nil, and for equals: in the
	// order in which they were set; one whose deadline is moved keeps its place in it.
	First func(a, b V) bool
	// Retry is the wait after an attempt that failed or was blocked.
	Retry timedqueue.Backoff
}

// BudgetOf is a [Budget] for whatever is evicted.
type BudgetOf[V any] struct {
	Name string
	// Of names the share. Nil: all share the budget. It must be a pure function.
	Of    func(V) string
	Limit rate.Limit
	Burst int
}

// Validate reports the first thing that is wrong with the config.
func (c SchedulerConfig[V]) Validate() error {
	if err := c.Retry.Validate(); err != nil {
		return fmt.Errorf("%w: Retry: %w", ErrInvalidConfig, err)
	}
	names := make(map[string]bool)
	for _, b := range c.Budgets {
		if err := validateBudget(names, b.Name, b.Limit, b.Burst); err != nil {
			return err
		}
	}
	return nil
}

// A Scheduler evicts what is not a pod: workloads from a cluster, say, or virtual
// machines from a host. It is what is in a [Tracker] beneath the taints: keys with
// deadlines, that are handed out when they are due, as fast as the budgets allow, and
// tried again until they are gone or need not leave. Who must leave when is for the
// caller to decide; the key should be an identity, and not a name that comes again.
//
// It has no clock and no goroutine. Every operation is O(log n), budgets apart: see
// [Budget]. A timedqueue.Dispatcher can drive it. It is not safe for concurrent use.
type Scheduler[K comparable, V any] struct {
	keys *schedule[K, V]
}

// A Task is a key whose time has come.
type Task[K comparable, V any] struct {
	Key   K
	Value V
	// Due is the deadline, or the time of this try if an attempt has failed before.
	Due time.Time
	// Tries is how many attempts have failed before.
	Tries int
	// At is when Start handed it out.
	At time.Time

	entry   *entry[K, V]
	attempt *attempt[K, V]
}

// CalledOff reports whether the key was removed, or was given a deadline that is not
// over, since it was handed out. It may be called at any time, from any goroutine.
func (t Task[K, V]) CalledOff() bool { return t.attempt != nil && t.attempt.off.Load() }

// NewScheduler returns an empty scheduler.
func NewScheduler[K comparable, V any](config SchedulerConfig[V], now time.Time) (*Scheduler[K, V], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	s := &Scheduler[K, V]{newSchedule[K, V](config.Retry, now)}
	if first := config.First; first != nil {
		s.keys.orderBy(func(a, b *V) bool { return first(*a, *b) })
	}
	for _, b := range config.Budgets {
		var of func(*V) string
		if b.Of != nil {
			of = func(v *V) string { return b.Of(*v) }
		}
		s.keys.budgets.add(b.Name, of, b.Limit, b.Burst)
	}
	return s, nil
}

// Set says what is known of a key, and when it must leave. A key whose deadline
// stays keeps its place among those of the same time, and one whose attempt has
// failed keeps its wait. A key that is set while it is acted on is acted on again after
// that, even if the action reports that it is gone.
func (s *Scheduler[K, V]) Set(now time.Time, key K, value V, due time.Time) {
	s.keys.advance(now)
	at := s.keys.distance(due)
	e, known := s.keys.entries[key]
	switch {
	case !known:
		s.keys.place(s.keys.add(key, value), at, false)
	case e.acts():
		if e.gone() {
			s.keys.revive(e)
		}
		e.value, e.due, e.attempt.pinned = value, at, true
		e.attempt.off.Store(at > s.keys.now)
	default:
		s.keys.change(e, func(v *V) { *v = value })
		s.keys.place(e, at, false)
	}
}

// Remove says that a key need not leave, or is gone. It reports whether it was there.
func (s *Scheduler[K, V]) Remove(key K) bool {
	e, known := s.keys.find(key)
	if known {
		s.keys.remove(e)
	}
	return known
}

// SetLimit is that of [Tracker].
func (s *Scheduler[K, V]) SetLimit(now time.Time, budget, share string, limit rate.Limit) bool {
	s.keys.advance(now)
	return s.keys.budgets.setLimit(s.keys.now, budget, share, limit)
}

// Start hands out a key whose time has come. It is acted on until Finish.
func (s *Scheduler[K, V]) Start(now time.Time) (Task[K, V], bool) {
	s.keys.advance(now)
	e, ok := s.keys.start()
	if !ok {
		return Task[K, V]{}, false
	}
	return Task[K, V]{
		Key:     e.key,
		Value:   e.value,
		Due:     s.keys.time(e.due),
		Tries:   e.attempt.tries,
		At:      s.keys.time(s.keys.now),
		entry:   e,
		attempt: e.attempt,
	}, true
}

// Finish takes what came of a task. A key that is Evicted or AlreadyGone is forgotten,
// any other is tried again. A second one for the same task changes nothing.
func (s *Scheduler[K, V]) Finish(now time.Time, task Task[K, V], report Report) {
	s.keys.advance(now)
	e := task.entry
	if !s.keys.underWay(e, task.attempt) {
		return
	}
	if s.keys.finish(e, report) {
		s.keys.place(e, e.due, false)
		return
	}
	delete(s.keys.entries, e.key)
}

// Next returns when Start can next hand something out, and false when only a change
// of the scheduler makes a difference.
func (s *Scheduler[K, V]) Next(now time.Time) (time.Time, bool) {
	s.keys.advance(now)
	at, ok := s.keys.next()
	if !ok {
		return time.Time{}, false
	}
	return s.keys.time(at), true
}

// Len returns how many keys wait or are acted on.
func (s *Scheduler[K, V]) Len() int { return s.keys.pending }

// All goes through the keys that wait or are acted on, with their times, in no order.
// The scheduler must not be changed before it ends.
func (s *Scheduler[K, V]) All() iter.Seq2[K, time.Time] {
	return func(yield func(K, time.Time) bool) {
		for e := range s.keys.all() {
			if !yield(e.key, s.keys.time(e.due)) {
				return
			}
		}
	}
}
