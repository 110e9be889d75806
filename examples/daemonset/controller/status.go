package controller

import (
	"time"

	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/timedqueue"
)

// writeStatus hands out the status of a set that shows another one.
func (c *Controller) writeStatus(now time.Time) (Task, bool) {
	for ; c.left > 0; c.left-- {
		item, ok := c.statuses.Start(now)
		if !ok {
			return Task{}, false
		}
		r := item.Value
		patch, err := rollout.StatusPatch(r.set.Source.Owner.Object, r.set.Status, r.counts)
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
