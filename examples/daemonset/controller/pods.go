package controller

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/timedqueue"
)

// ErrHalted is why no pod is deleted after [Controller.Halt].
var ErrHalted = errors.New("halted: no pod is deleted")

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
		if ok && c.halted && task.Delete != nil {
			r.planner.Finish(now, task, daemon.Result{Outcome: daemon.OutcomeRefused, Err: ErrHalted})
			ok = false
		}
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
	if pod := result.Pod.Pod; pod != nil && metav1.IsControlledBy(pod, task.Owner.Object) {
		r.made.Created(now, pod)
	}
	c.enter(now, r)
}
