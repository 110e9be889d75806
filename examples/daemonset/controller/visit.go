package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// enter moves a set to the phase that it belongs to, and has it in the queues
// of that phase.
func (c *Controller) enter(now time.Time, r *record) {
	if !c.synced {
		return
	}
	former := r.phase
	r.phase = r.next()
	if r.phase == phaseTerminating {
		r.closePlanner()
	}
	if r.phase == phaseSelectingAll && former != phaseSelectingAll {
		owner := r.set.Source.Owner
		c.tell(Event{owner, corev1.EventTypeWarning, reasonSelectingAll, messageSelectingAll})
	}
	switch {
	case r.phase == phaseInvalid:
		c.tellOnce(r, ReasonInvalid, r.problem)
	case former == phaseInvalid, r.phase == phaseTerminating: // it waits for no correction
		r.told = ""
	}
	keep(c.claims, r, r.phase == phaseClaiming, now)
	switch {
	case r.phase == phaseRevising && former != phaseRevising:
		c.revises.Set(r.uid, r, now) // the history may have waited to be tidied
	case r.phase != phaseManaged:
		keep(c.revises, r, r.phase == phaseRevising, now)
	case former != phaseManaged:
		c.tidy(now, r) // the history may have changed meanwhile
	}
	if r.phase != phaseManaged {
		c.ready.Remove(r.uid)
	}
	if !r.mayWriteStatus() {
		c.statuses.Remove(r.uid)
	}
	if r.planner != nil || r.phase.visits() {
		c.visitAt(r, now)
	} else {
		c.visits.Remove(r.uid)
	}
}

// tidyInterval is how often a history is computed again at most, when it or the
// pods that hold its revisions change.
const tidyInterval = time.Second

// tidy has the history of a managed set computed again soon.
func (c *Controller) tidy(now time.Time, r *record) {
	if r.phase == phaseManaged {
		c.revises.Add(r.uid, r, now.Add(tidyInterval))
	}
}

// visit looks at what has changed of a set, as far as the turn may. What is
// left has another turn, after the other sets that are due.
func (c *Controller) visit(now time.Time, r *record) {
	c.left--
	switch {
	case r.phase == phaseWaiting:
		c.compare(r)
		c.enter(now, r)
	case r.phase == phaseFilling:
		c.fill(now, r)
		c.enter(now, r)
	case r.planner == nil || r.unfilled > 0:
	case c.evaluate(now, r):
		c.settle(now, r)
	default:
		c.ready.Remove(r.uid)
		c.visitAt(r, now)
	}
}

// evaluate has the planner of a set evaluate its nodes, as many as the turn may
// visit. It reports whether that was all.
func (c *Controller) evaluate(now time.Time, r *record) bool {
	visited := r.planner.Evaluate(now, c.left)
	complete := visited < c.left
	c.left -= visited
	return complete
}

// settle finds out whether a planner that is up to date has a task, and whether
// the status has changed.
func (c *Controller) settle(now time.Time, r *record) {
	counts, _ := r.planner.Status(now)
	next, waits := r.planner.Next(now)
	hasTask := waits && !next.After(now)
	keep(c.ready, r, hasTask && r.phase == phaseManaged && r.underWay < c.config.Planner.Burst, now)
	c.visits.Remove(r.uid)
	if waits && !hasTask {
		c.visitAt(r, next)
	}
	r.counts, r.counts.Observed = counts, max(r.planned, r.observed())
	c.keepStatus(now, r)
}

// keepStatus has the status of a set written if it differs from the counts.
// What they say decides when.
func (c *Controller) keepStatus(now time.Time, r *record) {
	if !r.mayWriteStatus() || r.counts == r.set.Status {
		c.statuses.Remove(r.uid)
		return
	}
	if c.statuses.Add(r.uid, r, now) {
		r.pace.changed = now
	}
	if item, ok := c.statuses.Get(r.uid); ok && !item.Due.IsZero() { // it is not under way
		c.statuses.Set(r.uid, r, r.pace.due(r.set.Status, r.counts))
	}
}

// visitDue visits sets that are due. If some are left, Next returns now.
func (c *Controller) visitDue(now time.Time) {
	for c.left > 0 {
		item, ok := c.visits.Start(now)
		if !ok {
			return
		}
		c.visits.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
		c.visit(now, item.Value)
	}
}
