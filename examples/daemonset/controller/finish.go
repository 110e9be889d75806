package controller

import "time"

// Finish takes the result of a task. Pods that were adopted, released or
// relabelled, and revisions, must have been observed before, as the API server
// has returned them, or forgotten if they were deleted.
func (c *Controller) Finish(now time.Time, task Task, result Result) {
	if _, ok := task.Action.(Record); ok || task.of == nil {
		return
	}
	c.underWay--
	c.requests.Settle(now, task.grant, result.Unused)
	if c.sets[task.of.uid] != task.of {
		c.finishGone(now, &task)
		return
	}
	switch action := task.Action.(type) {
	case Claim:
		c.finishClaim(now, &task, action, &result)
	case Revise:
		c.finishRevise(now, &task, action, &result)
	case ChangePod:
		c.finishPod(now, &task, action, &result)
	case WriteStatus:
		c.finishStatus(now, &task, action, &result)
	}
}

// finishGone ends a task of a set that is gone.
func (c *Controller) finishGone(now time.Time, task *Task) {
	switch task.Action.(type) {
	case Claim:
		c.claims.Finish(now, task.item, outcomeOf(nil))
	case Revise:
		c.revises.Finish(now, task.item, outcomeOf(nil))
	case WriteStatus:
		c.statuses.Finish(now, task.item, outcomeOf(nil))
	}
}
