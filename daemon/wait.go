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
	// UnderWay: a pod is being made.
	UnderWay WaitReason = "UnderWay"
	// Terminating: the former pod has to be gone before the next one comes.
	Terminating WaitReason = "Terminating"
	// Backoff: a pod has failed, and was not the first one to do so.
	Backoff WaitReason = "Backoff"
	// CreationRefused: the API server did not make the pod, or did not answer.
	CreationRefused WaitReason = "CreationRefused"
	// DeletionRefused: the API server did not delete the pod, or did not answer.
	DeletionRefused WaitReason = "DeletionRefused"
	// Burst: as many creations or deletions as may be are under way, or, after one was
	// refused, none is to be for a while.
	Burst WaitReason = "Burst"
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
	// NotSelected: the old pod stays because Config.Updates does not want the node.
	NotSelected WaitReason = "NotSelected"
)

// Waits returns all nodes that wait, by name. It is for people who ask why nothing
// happens, and looks at all nodes.
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
	switch {
	case a.wait.Reason == "" && (a.create != "" || a.deletes):
		a.wait.Reason = Burst
		if retry := p.flight.refused.hold(); a.create != "" && p.now.Before(retry) {
			a.wait.Until = retry
		}
	case a.wait.Reason == Limited && p.partitioned(n):
		a.wait.Reason = Partitioned
	}
	return a.wait
}

func (p *Planner) partitioned(n *nodeState) bool {
	limits, err := p.spec.Rollout.Limits(p.counts.of(desired))
	r := remaining{planner: p, limits: limits}
	return err == nil && !r.partition(n)
}
