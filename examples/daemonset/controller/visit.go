package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// mostVisits bounds the visits of one turn. Each evaluates a thousand nodes at
// most, which takes about a millisecond.
const mostVisits = 8

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
	keep(c.claims, r, r.phase == phaseClaiming, now)
	switch {
	case r.phase == phaseRevising && former != phaseRevising:
		if !c.revises.Add(r.uid, r, now) {
			c.revises.Reschedule(r.uid, now) // the history waited to be tidied
		}
	case r.phase != phaseManaged:
		keep(c.revises, r, r.phase == phaseRevising, now)
	case former == phaseClaiming:
		c.tidy(now, r) // the history may have changed meanwhile
	}
	c.visit(now, r)
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

// visit evaluates the nodes of a set that have changed, a thousand at most. It
// finds out whether the planner has a task, and whether the status has changed.
func (c *Controller) visit(now time.Time, r *record) {
	if r.planner == nil {
		for _, q := range []*queue{c.ready, c.visits, c.statuses} {
			q.Remove(r.uid)
		}
		return
	}
	counts, complete := r.planner.Status()
	if !complete {
		c.ready.Remove(r.uid)
		c.visitAt(r, now)
		return
	}
	next, waits := r.planner.Next(now)
	hasTask := waits && !next.After(now)
	keep(c.ready, r, hasTask && r.phase == phaseManaged && r.underWay < c.config.Planner.Burst, now)
	c.visits.Remove(r.uid)
	if waits && !hasTask {
		c.visitAt(r, next)
	}
	r.counts = counts.Counts(max(r.planned, r.set.Status.Observed))
	keep(c.statuses, r, r.phase.acts() && r.counts != r.set.Status, r.statusDue)
}

// visitDue visits sets that are due. If some are left, Next returns now.
func (c *Controller) visitDue(now time.Time) {
	for range mostVisits {
		item, ok := c.visits.Start(now)
		if !ok {
			return
		}
		c.visits.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
		c.visit(now, item.Value)
	}
}
