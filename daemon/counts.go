package daemon

import "math/bits"

// marks are what a node adds one to, each a count over all nodes.
type marks uint16

const (
	// Of the status.
	desired      marks = 1 << iota // it should have a pod
	current                        // and has one
	misscheduled                   // it has one and should not
	ready
	updated
	available

	// Of the rollout.
	unavailable // it has no available pod: counts against maxUnavailable
	between     // its old pod is gone, and no new one available: counts if Strict
	surging     // it has a new pod beside the old one: counts against maxSurge
	serving     // it has an available pod, wanted there or not
	behind      // its old pod is still to be replaced

	numberOfCounts = 11
)

// counts is how many nodes have each mark.
type counts [numberOfCounts]int

func (c *counts) add(m marks)    { c.change(m, 1) }
func (c *counts) remove(m marks) { c.change(m, -1) }

func (c *counts) change(m marks, by int) {
	for ; m != 0; m &= m - 1 {
		c[bits.TrailingZeros16(uint16(m))] += by
	}
}

func (c *counts) of(m marks) int { return c[bits.TrailingZeros16(uint16(m))] }

// Status counts nodes, as the status of a DaemonSet does.
type Status struct {
	Desired      int // nodes that should have a pod
	Current      int // of them, those that have one
	Ready        int // whose pod is ready
	Available    int // and has been for MinReady
	Unavailable  int // the other desired ones
	Updated      int // whose pod is of the current revision
	Misscheduled int // nodes that have a pod and should not
}

// Status returns the counts as of the latest time and of all that was told, our own writes
// included. Of several pods on a node the one counts that was there first. It costs what
// has changed since it, or a plan, was last asked for.
func (p *Planner) Status() Status {
	p.settle()
	c := &p.counts
	return Status{
		Desired:      c.of(desired),
		Current:      c.of(current),
		Ready:        c.of(ready),
		Available:    c.of(available),
		Unavailable:  c.of(desired) - c.of(available),
		Updated:      c.of(updated),
		Misscheduled: c.of(misscheduled),
	}
}
