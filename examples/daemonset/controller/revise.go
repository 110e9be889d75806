package controller

import (
	"time"

	"github.com/kubelife/lifecycle/daemon/ownership"
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

// Revise applies a plan for the history.
type Revise struct {
	// Owner is the set as it was when the task started.
	Owner ownership.Owner
	Plan  revision.Plan

	partial bool // there is more to do
	begun
}

// A reviser is the core of the histories.
type reviser struct{ *Controller }

// Start hands out what is to be done about the history of a set. A set whose
// history is as it should be needs no task.
func (c reviser) Start(now time.Time) (Revise, bool) {
	for c.left > 0 {
		item, ok := c.revises.Start(now)
		if !ok {
			return Revise{}, false
		}
		r := item.Value
		c.left -= computeCost
		plan, err := c.compute(r)
		if err == nil && !plan.Empty() {
			first, partial := firstSteps(plan)
			return Revise{r.set.Source.Owner, first, partial, begun{r, item}}, true
		}
		c.revises.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeSkipped})
		if err != nil {
			r.problem = err
		} else {
			c.plan(now, r, plan.Hash)
		}
		c.enter(now, r)
	}
	return Revise{}, false
}

// Next returns when a history may next be looked at.
func (c reviser) Next(now time.Time) (time.Time, bool) { return c.revises.Next(now) }

// Finish takes the result of a plan that was applied.
func (c reviser) Finish(now time.Time, revise Revise, result Result[revision.Result]) {
	if !c.ended(revise.begun) {
		c.revises.Finish(now, revise.item, outcomeOf(nil))
		return
	}
	r, done := revise.of, result.done()
	c.revises.Finish(now, revise.item, outcomeOf(result.Failed()))
	c.considerRevisions(r)
	planned := Set{Source: revise.Plan.Source}
	current := planned.version() == r.set.version()
	if done.Collisions != nil && current { // the set as the watch shows it may lack this
		r.set.Source.Collisions = done.Collisions
	}
	if hash := done.Hash(); hash != "" && current && done.Collisions == nil && r.phase.acts() {
		c.plan(now, r, hash)
	}
	c.enter(now, r)
	if revise.partial && r.phase == phaseManaged {
		c.revises.Add(r.uid, r, now)
	}
	c.tidy(now, r)
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
