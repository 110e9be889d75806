package controller

import (
	"time"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/timedqueue"
)

// keepStatus has the status of a set written if it differs from the counts.
// Clients wait for the end of a rollout, so that is written at once. The next
// status that is not complete waits. So a set whose pods become ready and not
// ready all the time gets two statuses in each interval at most.
func (c *Controller) keepStatus(now time.Time, r *record) {
	keep(c.statuses, r, r.mayWriteStatus() && r.counts != r.set.Status, r.statusDue)
	completes := isComplete(r.counts) &&
		(r.set.Status.Observed < r.counts.Observed || !isComplete(r.set.Status))
	if !completes {
		return
	}
	if item, ok := c.statuses.Get(r.uid); ok && item.Due.Equal(r.statusDue) { // else it backs off
		c.statuses.Reschedule(r.uid, now)
	}
}

// isComplete reports whether counts are what kubectl rollout status waits for.
func isComplete(s daemon.StatusCounts) bool {
	return s.Current == s.Desired && s.Updated == s.Desired && s.Available == s.Desired
}

// writeStatus hands out the status of a set that shows another one.
func (c *Controller) writeStatus(now time.Time) (Task, bool) {
	for ; c.left > 0; c.left-- {
		item, ok := c.statuses.Start(now)
		if !ok {
			return Task{}, false
		}
		r := item.Value
		patch, err := daemon.StatusPatch(r.set.Source.Owner.Object, r.set.Status, r.counts)
		if err == nil && patch != nil {
			return Task{Owner: r.set.Source.Owner, Action: WriteStatus{patch}, of: r, item: item}, true
		}
		c.statuses.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeSkipped})
	}
	return Task{}, false
}

func (c *Controller) finishStatus(now time.Time, task *Task, action WriteStatus, result *Result) {
	r := task.of
	c.statuses.Finish(now, task.item, outcomeOf(result.Failed(action)))
	r.statusDue = now.Add(c.config.StatusInterval)
	if set := result.Set; set != nil && set.UID() == r.uid &&
		!isOlder(set.Source.Owner.Object, r.set.Source.Owner.Object) {
		c.ObserveSet(now, *set)
	}
	c.enter(now, r)
}
