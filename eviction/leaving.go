package eviction

import (
	"cmp"
	"time"
)

// count makes a pod whose eviction was accepted count for the budgets until it
// is gone; see Budget.MaxPods.
func (t *Tracker) count(e *entry) {
	if t.bounded {
		t.evictions.Occupy(e)
	}
}

// countUntil is count for one that is terminating, whose grace period ends at a
// time. Its time does not start again with each observation.
func (t *Tracker) countUntil(now time.Time, e *entry, ends time.Time) {
	until := ends.Add(cmp.Or(t.config.MostTerminating, time.Minute))
	if !t.bounded || !until.After(now) {
		return
	}
	if t.counted.Add(e.Key(), e, until) {
		t.evictions.Occupy(e)
	}
}

// uncount says that a pod counts no more: it is there after all, or gone.
func (t *Tracker) uncount(e *entry) {
	if t.bounded {
		t.evictions.Vacate(e)
		t.counted.Remove(e.Key())
	}
}

// terminatedBy returns when the grace period of what is leaving ends. That of a
// pod ends at its deletionTimestamp, by the clock of the API server. Where that
// clock is ahead, it counts from now.
func (s *Subject) terminatedBy(now time.Time) time.Time {
	if s.pod == nil {
		return now
	}
	ends := now.Add(s.pod.DeletionTimestamp.Sub(now))
	if seconds := s.pod.DeletionGracePeriodSeconds; seconds != nil {
		ends = earlier(ends, now.Add(granted(*seconds)))
	}
	return ends
}

// uncountStuck stops counting pods that are terminating for too long.
func (t *Tracker) uncountStuck(now time.Time) {
	for range mostDecided {
		e, ok := takeDue(t.counted, now)
		if !ok {
			return
		}
		t.evictions.Vacate(e)
	}
}
