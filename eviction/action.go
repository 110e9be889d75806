package eviction

import (
	"context"
	"time"
)

// An Action does one [Task] and returns its result. [Deleter.Act],
// [Evictor.Act] and the functions that [DryRun] and [EvictThenDelete] return
// are actions. One that writes something else to a pod takes it back itself if
// the pod stays.
type Action func(ctx context.Context, task Task) Result

// DryRun returns an action that writes nothing. It calls see for each pod that
// would be evicted, at the pace of the budgets. It calls see again when the
// Reason or Due of the pod's decision has changed, and after [Tracker.Retry].
// [Tracker.Pending] lists the pods without spending budgets.
func DryRun(see func(Task)) Action {
	return func(_ context.Context, task Task) Result {
		see(task)
		return Result{Outcome: OutcomeDryRun}
	}
}

// EvictThenDelete returns an action that does the first action until the pod is
// overdue for a time, and the second action from then on. For example, it evicts
// for half an hour and deletes after that. The switch happens at the
// first attempt after that time, at most the longest wait of Config.Backoff
// later.
//
// The time counts from the pod's deadline. That follows from the API objects, so
// a restart does not prolong it. Exceptions are a taint without TimeAdded, and
// requests that the caller makes again after the restart without the time of the
// first. The time also passes while a budget or a [Hold] delays the pod, which
// may skip the first action. For a time that depends on the task, make the
// action for each task.
func EvictThenDelete(first, then Action, after time.Duration) Action {
	return func(ctx context.Context, task Task) Result {
		if task.StartedAt.Sub(task.Decision.Due) >= after {
			return then(ctx, task)
		}
		return first(ctx, task)
	}
}
