package rollout

import (
	"iter"
	"slices"
	"time"
)

// A Wait is why nothing is done for a node that is not as it should be.
type Wait struct {
	Node   string
	Pod    string // that the reason is about; empty: none
	Reason WaitReason
	// Until is when the wait ends by itself; zero: an event ends it.
	Until time.Time
}

// WaitReason is what a node waits for.
type WaitReason string

const (
	// WaitPlanned: one of the next tasks is for the node, once all nodes are
	// evaluated.
	WaitPlanned WaitReason = "Planned"
	// WaitUnderWay: a pod is being created.
	WaitUnderWay WaitReason = "UnderWay"
	// WaitTerminating: the former pod has to be gone before the next one comes.
	WaitTerminating WaitReason = "Terminating"
	// WaitBackoff: a pod has terminated, after others.
	WaitBackoff WaitReason = "Backoff"
	// WaitRefused: the API server did not create a pod, or did not delete
	// Wait.Pod, or did not answer. Or the caller has said OutcomeNotNow.
	WaitRefused WaitReason = "Refused"
	// WaitBurst: the most creations or deletions are under way.
	WaitBurst WaitReason = "Burst"
	// WaitHeld: a call for another node was refused, which pauses all for a time.
	WaitHeld WaitReason = "Held"
	// WaitHalted: the pod is deleted after [Planner.Resume].
	WaitHalted WaitReason = "Halted"
	// WaitMinReady: a pod is ready, but not for long enough yet.
	WaitMinReady WaitReason = "MinReady"
	// WaitNotAvailable: the new pod is not ready.
	WaitNotAvailable WaitReason = "NotAvailable"
	// WaitLimited: the old pod stays until MaxUnavailable or MaxSurge let it go.
	WaitLimited WaitReason = "Limited"
	// WaitPartitioned: the old pod stays because of the Partition.
	WaitPartitioned WaitReason = "Partitioned"
	// WaitOnDelete: the old pod stays until another client deletes it.
	WaitOnDelete WaitReason = "OnDelete"
	// WaitPaused: the old pod stays because the rollout is paused.
	WaitPaused WaitReason = "Paused"
	// WaitInvalid: the old pod stays, or nothing is done, because of
	// [Planner.Stopped].
	WaitInvalid WaitReason = "Invalid"
	// WaitNotEligible: the old pod stays because the node is not [Policy].Eligible.
	WaitNotEligible WaitReason = "NotEligible"
)

// Waits returns why nothing happens on nodes: all nodes that wait, by name, as
// of the latest time that was passed. A node for which a task was just handed
// out waits for that. While it is ranged over, it visits all nodes that have a
// pod or should have one.
func (p *Planner) Waits() iter.Seq[Wait] {
	complete := p.evaluateChanges()
	return func(yield func(Wait) bool) {
		names := make([]string, 0, len(p.known.states))
		for _, n := range p.known.states {
			names = append(names, n.name)
		}
		slices.Sort(names)
		for _, name := range names {
			n := p.known.lookup(name)
			if n == nil {
				continue // forgotten since the first was returned
			}
			if wait := p.waitOf(n, complete); wait.Reason != "" && !yield(wait) {
				return
			}
		}
	}
}

// waitOf assesses the node once more, because to keep the wait would cost each
// node memory.
func (p *Planner) waitOf(n *nodeState, complete bool) Wait {
	a := assess(n, &p.goal, p.known.now)
	a.wait.Node = n.name
	d, needs := a.needs.first()
	if a.wait.Reason == WaitLimited {
		d, needs = a.needs.ofRollout().first()
	}
	switch {
	case !needs, a.wait.Reason != "" && a.wait.Reason != WaitLimited:
	case p.goal.refusal != nil:
		a.wait.Reason = WaitInvalid
	case !complete:
		a.wait.Reason = WaitPlanned
	case d.ofRollout() && !p.candidates.partitionLets(n):
		a.wait.Reason = WaitPartitioned
	case d.ofRollout() && !p.candidates.lets(n, d):
	case p.may(n, d):
		a.wait.Reason = WaitPlanned
	case p.creates(n, d):
		a.wait.heldBy(&p.calls.creations, p.known.now)
	case p.calls.halted:
		a.wait.Reason = WaitHalted
	default:
		a.wait.heldBy(&p.calls.deletions, p.known.now)
	}
	return a.wait
}

// heldBy sets why a call may not be made yet.
func (w *Wait) heldBy(calls *calls, now time.Time) {
	w.Reason = WaitBurst
	if hold := calls.refused.hold(); now.Before(hold) {
		w.Reason, w.Until = WaitHeld, hold
	}
}
