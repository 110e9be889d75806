package controller

import (
	"time"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/timedqueue"
)

// ChangePod creates, deletes or reads a pod.
type ChangePod struct {
	// Owner is the set as it was when the task started.
	Owner ownership.Owner
	Task  rollout.Task

	begun
}

// A podChanger is the core of what the planners of all sets hand out.
type podChanger struct{ *Controller }

// Start hands out a task of the planner of a set whose turn it is.
func (c podChanger) Start(now time.Time) (ChangePod, bool) {
	for c.left > 0 {
		item, ok := c.ready.Start(now)
		if !ok {
			return ChangePod{}, false
		}
		r := item.Value
		var task rollout.Task
		if ok = c.evaluate(now, r); ok {
			task, ok = r.planner.Start(now)
		}
		c.ready.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
		if ok {
			r.underWay++
			if task.Create != nil {
				r.creating[task.Create.Revision]++
			}
		}
		c.visit(now, r)
		if ok {
			return ChangePod{r.set.Source.Owner, task, begun{of: r}}, true
		}
	}
	return ChangePod{}, false
}

// Next returns when the planner of a set may next have a task.
func (c podChanger) Next(now time.Time) (time.Time, bool) { return c.ready.Next(now) }

// Finish takes the result of a planner's task, which counts also if it has
// failed.
func (c podChanger) Finish(now time.Time, change ChangePod, result Result[rollout.Result]) {
	if !c.ended(change.begun) {
		return
	}
	r, done := change.of, result.done()
	r.underWay--
	c.tell(podEvents(change.Owner, &change.Task, &done)...)
	if r.planner != nil {
		r.planner.Finish(now, change.Task, done)
	}
	c.answered(now, r, done.Pod)
	c.enter(now, r)
	if creation := change.Task.Create; creation != nil {
		c.created(now, r, creation.Revision)
	}
}

// created counts the end of a creation. A revision that was spared for it may
// be deleted now.
func (c *Controller) created(now time.Time, r *record, hash string) {
	if r.creating[hash]--; r.creating[hash] == 0 {
		delete(r.creating, hash)
	}
	if r.spared {
		c.tidy(now, r)
	}
}
