package controller

import (
	"iter"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/rollout"
)

// A State is what a Controller shows of one set.
type State struct {
	Owner ownership.Owner
	// Phase is waiting, claiming, revising, filling, managed, selectingAll,
	// invalid or terminating. Before MarkSynced it is waiting.
	Phase string
	// Problem is what is wrong with the set, for example with its rollout.
	Problem error
	// Stopped says that the rollout, or all of the set, waits for a correction of
	// the spec. An Event has said why.
	Stopped bool
	// Counts are the newest that are complete.
	Counts rollout.Status
	// UnderWay is how many requests about its pods are under way.
	UnderWay int
}

// Sets returns the state of each set, in the order of the first observations.
func (c *Controller) Sets() iter.Seq[State] {
	return func(yield func(State) bool) {
		for _, r := range c.inOrder {
			state := State{r.set.Source.Owner, r.phase.String(), r.allProblems(), r.told != "", r.counts, r.underWay}
			if !yield(state) {
				return
			}
		}
	}
}

// Waits returns why nothing happens on nodes of a set, see
// [rollout.Planner.Waits].
func (c *Controller) Waits(uid types.UID) iter.Seq[rollout.Wait] {
	if r := c.sets[uid]; r != nil && r.planner != nil {
		return r.planner.Waits()
	}
	return func(func(rollout.Wait) bool) {}
}

// UnderWay returns how many tasks are under way.
func (c *Controller) UnderWay() int { return c.underWay }

// Waiting returns how many sets wait for a task.
func (c *Controller) Waiting() int {
	return c.claims.Len() + c.revises.Len() + c.statuses.Len() + c.ready.Len()
}
