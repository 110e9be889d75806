package controller

import (
	"time"

	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/timedqueue"
)

// changePod hands out a task of the planner of a set whose turn it is.
func (c *Controller) changePod(now time.Time) (Task, bool) {
	for c.left > 0 {
		item, ok := c.ready.Start(now)
		if !ok {
			return Task{}, false
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
			return Task{Owner: r.set.Source.Owner, Action: ChangePod{task}, of: r}, true
		}
	}
	return Task{}, false
}

func (c *Controller) finishPod(now time.Time, task *Task, action ChangePod, result *Result) {
	r := task.of
	r.underWay--
	c.tell(podEvents(task.Owner, &action.Task, &result.Pod)...)
	if r.planner != nil {
		r.planner.Finish(now, action.Task, result.Pod)
	}
	c.answered(now, r, result.Pod.Pod)
	c.enter(now, r)
	if creation := action.Task.Create; creation != nil {
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
