package controller

import (
	"time"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/timedqueue"
)

const (
	// computeCost is for how many visits the comparison of a template with a
	// history counts. It takes as long.
	computeCost = 50
	// createRequests is the most that a new revision needs if its name is taken.
	// It is created and read, the owner is read, and one of the two is written.
	createRequests = 4
)

// revise hands out what is to be done about the history of a set. A set whose
// history is as it should be needs no task.
func (c *Controller) revise(now time.Time) (Task, bool) {
	for c.left > 0 {
		item, ok := c.revises.Start(now)
		if !ok {
			return Task{}, false
		}
		r := item.Value
		c.left -= computeCost
		plan, err := c.compute(r)
		if err == nil && !plan.Empty() {
			first, partial := firstSteps(plan)
			action := Revise{Plan: first, partial: partial}
			return Task{Owner: r.set.Source.Owner, Action: action, of: r, item: item}, true
		}
		c.revises.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeSkipped})
		if err != nil {
			r.problem = err
		} else {
			c.plan(now, r, plan.Hash)
		}
		c.enter(now, r)
	}
	return Task{}, false
}

// firstSteps returns as much of a plan as one task may do, and whether that is
// a part only. A duplicate can be deleted only when its pods carry another
// hash.
func firstSteps(plan revision.Plan) (first revision.Plan, partial bool) {
	all := len(plan.Update) + len(plan.Relabel) + len(plan.Delete)
	room := reviseRequests
	if plan.Create != nil {
		room -= createRequests
	}
	take := func(steps int) int {
		steps = min(steps, room)
		room -= steps
		return steps
	}
	plan.Update = plan.Update[:take(len(plan.Update))]
	relabels := take(len(plan.Relabel))
	if relabels < len(plan.Relabel) {
		plan.Relabel, plan.Delete = plan.Relabel[:relabels], nil
	}
	plan.Delete = plan.Delete[:take(len(plan.Delete))]
	return plan, len(plan.Update)+len(plan.Relabel)+len(plan.Delete) < all
}

func (c *Controller) finishRevise(now time.Time, task *Task, action Revise, result *Result) {
	r, failure := task.of, result.Failed(action)
	c.revises.Finish(now, task.item, outcomeOf(failure))
	done := &result.Revision
	c.considerRevisions(r)
	planned := Set{Source: action.Plan.Source}
	current := planned.version() == r.set.version()
	if done.Collisions != nil && current { // the set as the watch shows it may lack this
		r.set.Source.Collisions = done.Collisions
	}
	if hash := done.Hash(); hash != "" && current && done.Collisions == nil && r.phase.acts() {
		c.plan(now, r, hash)
	}
	c.enter(now, r)
	if action.partial && r.phase == phaseManaged {
		c.revises.Add(r.uid, r, now)
	}
	c.tidy(now, r)
}
