package eviction

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// stages are the queues in which pods wait, by their states.
type stages struct {
	// evictions holds every pod, with the time at which something is to be done.
	evictions *timedqueue.Queue[types.UID, pod]
	overdue   overdue
	// going holds those on their way out. One whose eviction was accepted has until
	// then to be observed to be terminating, and one that is terminating counts for
	// the budgets until then.
	going    *aside
	bounded  bool          // a budget has MaxPods or MaxNodes
	believed time.Duration // that an accepted eviction is, without being observed
	stuck    time.Duration // how long after its grace period a pod counts
	waiting  int           // pods about which something is to be done
}

func newStages(
	config *Config, queue timedqueue.QueueConfig[types.UID, pod], now time.Time,
) (s stages, err error) {
	s.believed = config.Backoff.Longest()
	s.stuck = cmp.Or(config.MostTerminating, time.Minute)
	for _, b := range queue.Budgets {
		s.bounded = s.bounded || b.MaxActing > 0
	}
	if s.evictions, err = timedqueue.NewQueue(queue, now); err != nil {
		return s, err
	}
	for _, q := range []**aside{&s.going, &s.overdue.pods, &s.overdue.again} {
		if *q, err = timedqueue.NewQueue(timedqueue.QueueConfig[types.UID, *entry]{}, now); err != nil {
			return s, err
		}
	}
	return s, nil
}

// An aside is a queue for pods that are also elsewhere.
type aside = timedqueue.Queue[types.UID, *entry]

// takeDue takes the first pod out of such a queue that is due.
func takeDue(q *aside, now time.Time) (*entry, bool) {
	item, ok := q.Start(now)
	if !ok {
		return nil, false
	}
	q.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
	return item.Value, true
}

// A plan is when something is to be done about a pod.
type plan struct {
	at  time.Time // zero: when something changes
	due time.Time // when the pod should leave, if it is pending or on hold
}

// enter puts a pod into a state, and into the queues in which pods of that
// state wait. Without a plan nothing is to be done until something changes.
func (s *stages) enter(now time.Time, e *entry, next podState, p *plan) {
	record := e.Value()
	was := record.state
	record.state = next
	if p == nil || p.at.IsZero() {
		s.evictions.Unschedule(e)
	} else {
		s.evictions.Schedule(e, p.at)
	}
	switch {
	case p != nil && !p.at.Equal(p.due):
		s.overdue.add(e, p.due)
	case was == pending || was == onHold:
		s.overdue.remove(e)
	}
	switch {
	case next == accepted:
		s.going.Set(e.Key(), e, now.Add(s.believed))
	case was == accepted:
		s.going.Remove(e.Key())
	}
	more := count(next.waits()) - count(was.waits())
	s.waiting += more
	record.node.waiting += more
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// occupy makes a pod whose eviction was accepted count for the budgets until it
// is gone; see Budget.MaxPods.
func (s *stages) occupy(e *entry) {
	if s.bounded {
		s.evictions.Occupy(e)
	}
}

// terminating is occupy for a pod whose grace period ends at a time. Its time
// does not start again with each observation.
func (s *stages) terminating(now time.Time, e *entry, ends time.Time) {
	until := ends.Add(s.stuck)
	if !s.bounded || !until.After(now) {
		return
	}
	if s.going.Add(e.Key(), e, until) {
		s.evictions.Occupy(e)
	}
}

// vacate says that a pod counts no more: it is there after all, or gone.
func (s *stages) vacate(e *entry) {
	if s.bounded {
		s.evictions.Vacate(e)
		s.going.Remove(e.Key())
	}
}

// expired returns a pod that is on its way out for too long. It counts no more.
func (s *stages) expired(now time.Time) (*entry, bool) {
	e, some := takeDue(s.going, now)
	if some {
		s.evictions.Vacate(e)
	}
	return e, some
}

// next returns when something can next be done.
func (s *stages) next(now time.Time) (time.Time, bool) {
	if s.overdue.more && s.overdue.pods.Len() > 0 {
		return now, true
	}
	at, ok := s.evictions.Next(now)
	for _, q := range [...]*aside{s.going, s.overdue.again} {
		if next, has := q.Next(now); has && (!ok || next.Before(at)) {
			at, ok = next, true
		}
	}
	return at, ok
}

// earliest returns the earliest deadline of all that wait.
func (s *stages) earliest() (earliest time.Time, some bool) {
	for _, q := range [...]interface{ Earliest() (time.Time, bool) }{
		s.evictions, s.overdue.pods, s.overdue.again,
	} {
		if first, has := q.Earliest(); has && (!some || first.Before(earliest)) {
			earliest, some = first, true
		}
	}
	return earliest, some
}
