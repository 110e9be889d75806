package eviction

import (
	"context"
	"time"
)

// An Action does one piece of [Work] and reports what came of it. [Delete.Act],
// [Evict.Act] and the functions that [DryRun] and [Escalate] return are actions.
type Action func(ctx context.Context, work Work) Report

// DryRun returns an action that does nothing but tell see about each pod that
// would be evicted, once.
func DryRun(see func(Work)) Action {
	return func(_ context.Context, work Work) Report {
		if work.Unmark {
			return Report{Outcome: Unmarked}
		}
		see(work)
		return Report{Outcome: Evicted}
	}
}

// Escalate returns an action that does the first action with a pod until that is
// overdue for some time, and the other one then: to evict for half an hour, say, and
// to delete after that. The other action comes with the first try after that time,
// which is at most the longest wait of Config.Retry later. Marks are taken back by the
// other action.
//
// The time counts from the pod's deadline, and for a taint that it does not tolerate
// from the start of the taint or the pod's arrival. Those are read from the API objects,
// so a restart does not lengthen it, except for a taint without TimeAdded and for
// Tracker.EvictNode. It goes on while a budget or Tracker.Hold keeps the pod: one that
// was kept for longer is never asked for with the first action.
func Escalate(first, then Action, after time.Duration) Action {
	return func(ctx context.Context, work Work) Report {
		if work.Unmark || work.At.Sub(work.since()) >= after {
			return then(ctx, work)
		}
		return first(ctx, work)
	}
}
