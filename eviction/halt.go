package eviction

import "time"

// Halt holds all evictions until Resume, whatever they are for. With it an
// operator stops a controller at once, without ending it. Start hands out only
// conditions to be cleared. An eviction under way learns that its task is moot,
// and makes no further call. Nothing is lost: nodes and pods are observed as
// ever, deadlines pass, and Overdue counts the pods that should have left. Halt
// costs O(1) and the actions under way. A second Halt changes nothing.
func (t *Tracker) Halt(now time.Time) {
	now = t.advance(now)
	t.halted = true
	t.decideAllRunning(now)
}

// Resume ends what Halt began. Pods that became due meanwhile leave in the
// order of their deadlines, as fast as the budgets allow.
func (t *Tracker) Resume(now time.Time) {
	now = t.advance(now)
	t.halted = false
	t.decideAllRunning(now)
}

// Halted reports whether all evictions are held.
func (t *Tracker) Halted() bool { return t.halted }
