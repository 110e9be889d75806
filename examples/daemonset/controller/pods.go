package controller

import (
	"time"

	"github.com/kubelife/lifecycle/daemon"
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
		var task daemon.Task
		if ok = c.evaluate(now, r); ok {
			task, ok = r.planner.Start(now)
		}
		c.ready.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
		if ok {
			r.underWay++
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
}
