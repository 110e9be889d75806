package controller

import (
	"time"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/timedqueue"
)

// WriteStatus patches the status of the set, with a patch of type
// [rollout.StatusPatchType]. Its result is the set, as the API server has
// returned it.
type WriteStatus struct {
	// Owner is the set as it was when the task started.
	Owner ownership.Owner
	Patch []byte

	begun
}

// A statusWriter is the core of the statuses.
type statusWriter struct{ *Controller }

// Start hands out the status of a set that shows another one.
func (c statusWriter) Start(now time.Time) (WriteStatus, bool) {
	for ; c.left > 0; c.left-- {
		item, ok := c.statuses.Start(now)
		if !ok {
			return WriteStatus{}, false
		}
		r := item.Value
		patch, err := rollout.StatusPatch(r.set.Source.Owner.Object, r.set.Status, r.counts)
		if err == nil && patch != nil {
			r.pace.begin(now, r.set.Status, r.counts)
			return WriteStatus{r.set.Source.Owner, patch, begun{r, item}}, true
		}
		c.statuses.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeSkipped})
	}
	return WriteStatus{}, false
}

// Next returns when a status may next be written.
func (c statusWriter) Next(now time.Time) (time.Time, bool) { return c.statuses.Next(now) }

// Finish takes the result of a write.
func (c statusWriter) Finish(now time.Time, write WriteStatus, result Result[Set]) {
	if !c.ended(write.begun) {
		c.statuses.Finish(now, write.item, outcomeOf(nil))
		return
	}
	r := write.of
	c.statuses.Finish(now, write.item, outcomeOf(result.Failed()))
	r.pace.written = now
	if set := result.Done; set != nil && set.UID() == r.uid &&
		!isOlder(set.Source.Owner.Object, r.set.Source.Owner.Object) {
		c.ObserveSet(now, *set)
	}
	c.enter(now, r)
}
