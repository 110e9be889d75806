package eviction

import (
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Pending is a pod that waits to be evicted, or is being evicted, and why.
type Pending struct {
	Pod  Key
	Node string
	// Verdict says when the pod must leave and why. If it need not leave, it is a mark
	// of an eviction that is taken back.
	Verdict Verdict
	// At is when it is looked at next. That is after Verdict.Due when an attempt has
	// failed. It is the zero time for a pod that is being acted on.
	At time.Time
	// Tries is how many attempts have failed.
	Tries int
	// Budget is the name of the budget that holds it up, empty if none does.
	Budget string
	// Acting says that an action is under way.
	Acting bool
}

// Waiting returns how many pods wait to be evicted, now or later, or for their mark to be
// taken back. It counts those that are being acted on.
func (t *Tracker) Waiting() int { return t.pods.pending }

// Pending goes through the pods that Waiting counts, in no order. It costs as much as
// there are, and the tracker must not be used before it ends.
func (t *Tracker) Pending() iter.Seq[Pending] {
	return func(yield func(Pending) bool) {
		common := t.pods.budgets.blocking(t.pods.now)
		for e := range t.pods.all() {
			if !yield(t.describe(e, common)) {
				return
			}
		}
	}
}

func (t *Tracker) describe(e *entry[types.UID, pod], common string) Pending {
	p := &e.value
	d := Pending{
		Pod:     p.key(e.key),
		Node:    p.home.node.name,
		Verdict: t.verdict(p),
		Acting:  e.acts(),
	}
	if !d.Acting {
		d.At = t.pods.time(e.due)
	}
	if a := e.attempt; a != nil {
		d.Tries = a.tries
		if a.parked != nil {
			d.Budget = a.parked.budget.name
		}
	}
	if d.Budget == "" && !d.Acting && !e.free() && e.due <= t.pods.now {
		d.Budget = common
	}
	return d
}

// Overdue returns how many pods should have left, and since when the one that is
// overdue the longest; the time is zero if there is none. It costs as much as
// Pending.
func (t *Tracker) Overdue(now time.Time) (pods int, oldest time.Time) {
	now = t.advance(now)
	for e := range t.pods.all() {
		ruling := t.rule(&e.value)
		if !ruling.dueAt(now) {
			continue
		}
		pods++
		if oldest.IsZero() || ruling.due.Before(oldest) {
			oldest = ruling.due
		}
	}
	return pods, oldest
}
