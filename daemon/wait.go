package daemon

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// A Wait is why nothing is done about a node that is not as it should be.
type Wait struct {
	Node   string
	Pod    string // the one that it is about; empty: none
	Reason WaitReason
	// Until is when the wait ends by itself; zero: it takes an event.
	Until time.Time
}

// WaitReason says what a node waits for.
type WaitReason string

const (
	// Planned: the next plan will do something about it.
	Planned WaitReason = "Planned"
	// UnderWay: a pod is being made.
	UnderWay WaitReason = "UnderWay"
	// Terminating: the former pod has to be gone before the next one comes.
	Terminating WaitReason = "Terminating"
	// Backoff: a pod has come to its end, and was not the first one to do so.
	Backoff WaitReason = "Backoff"
	// CreationRefused: the API server did not make the pod, or did not answer.
	CreationRefused WaitReason = "CreationRefused"
	// DeletionRefused: the API server did not delete the pod, or did not answer.
	DeletionRefused WaitReason = "DeletionRefused"
	// Burst: as many creations or deletions are under way as may be.
	Burst WaitReason = "Burst"
	// Held: something was refused for another node, and for a while nothing is tried.
	Held WaitReason = "Held"
	// MinReady: a pod is ready, but not for long enough yet.
	MinReady WaitReason = "MinReady"
	// NotAvailable: the new pod is not ready.
	NotAvailable WaitReason = "NotAvailable"
	// Limited: the old pod stays until MaxUnavailable or MaxSurge allow to replace it.
	Limited WaitReason = "Limited"
	// Partitioned: the old pod stays because of the Partition.
	Partitioned WaitReason = "Partitioned"
	// OnDelete: the old pod stays until somebody deletes it.
	OnDelete WaitReason = "OnDelete"
	// Paused: the old pod stays because the rollout is paused.
	Paused WaitReason = "Paused"
	// RolloutInvalid: the old pod stays because the rollout has [Spec.Problems].
	RolloutInvalid WaitReason = "RolloutInvalid"
	// SpecRefused: nothing is done because the latest spec was refused.
	SpecRefused WaitReason = "SpecRefused"
	// NotSelected: the old pod stays because Config.Updates does not want the node.
	NotSelected WaitReason = "NotSelected"
)

// Waits returns all nodes that wait, by name, as of the latest time that was told; those
// of which a plan has just handed something out wait for that. It is for people who ask
// why nothing happens, and looks at all nodes while it is ranged over.
func (p *Planner) Waits() iter.Seq[Wait] {
	p.settle()
	return func(yield func(Wait) bool) {
		for _, name := range slices.Sorted(maps.Keys(p.nodes)) {
			n := p.nodes[name]
			if n == nil {
				continue // forgotten since the first was returned
			}
			if wait := p.waitOf(n); wait.Reason != "" && !yield(wait) {
				return
			}
		}
	}
}

// WaitOf returns what one node waits for. The reason is empty if it waits for nothing.
func (p *Planner) WaitOf(node string) Wait {
	p.settle()
	if n := p.nodes[node]; n != nil {
		return p.waitOf(n)
	}
	return Wait{Node: node}
}

// waitOf assesses the node once more. Keeping what is asked for so seldom would cost
// each node memory.
func (p *Planner) waitOf(n *nodeState) Wait {
	a := p.assess(n)
	a.wait.Node = n.name
	planned := a.wait.Reason == "" && (a.create != "" || a.deletes) || a.wait.Reason == Limited
	switch {
	case p.refusal != nil && planned:
		a.wait.Reason = SpecRefused
	case a.wait.Reason == "" && a.create != "":
		a.wait.heldBy(p.mayCreate(), p.now, p.creations.refused.hold())
	case a.wait.Reason == "" && a.deletes:
		a.wait.heldBy(p.mayDelete(), p.now, p.deletions.refused.hold())
	case a.wait.Reason == Limited:
		p.limited(n, &a)
	}
	return a.wait
}

// heldBy says why what is to be done is not, if it may be done or only after a hold.
func (w *Wait) heldBy(may bool, now, hold time.Time) {
	switch {
	case may:
		w.Reason = Planned
	case now.Before(hold):
		w.Reason, w.Until = Held, hold
	default:
		w.Reason = Burst
	}
}

// limited says what it is that limits a candidate of the rollout.
func (p *Planner) limited(n *nodeState, a *assessment) {
	limits, err := p.spec.Rollout.Limits(p.counts.of(desired))
	if err != nil {
		return
	}
	r := remaining{planner: p, limits: limits}
	switch {
	case !r.partition(n):
		a.wait.Reason = Partitioned
	case !r.may(n, a.candidate):
	case p.surges && n.verdict.Run:
		a.wait.heldBy(p.mayCreate(), p.now, p.creations.refused.hold())
	default:
		a.wait.heldBy(p.mayDelete(), p.now, p.deletions.refused.hold())
	}
}

// may says whether the limits leave room for a candidate.
func (r *remaining) may(n *nodeState, as candidacy) bool {
	switch as {
	case replaceUnavailable:
		return r.forUnavailable(n)
	case replaceAvailable:
		return r.forAvailable(n)
	case retire:
		return r.forRetiring(n)
	case insist:
		return r.forInsisting(n)
	}
	return false
}
