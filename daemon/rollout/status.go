package rollout

import "math/bits"

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

// Status returns the counts after all observations and our own writes. Complete
// reports whether they are of all nodes. They are not while more nodes have
// changed than one turn evaluates; see [Planner.Start]. Each call is a turn.
// Write no status that is not complete.
//
// Of several pods on a node the first one counts.
func (p *Planner) Status() (status Status, complete bool) {
	complete = p.evaluateChanges()
	c := &p.counts
	return Status{
		Desired:      c.of(desired),
		Current:      c.of(current),
		Ready:        c.of(ready),
		Available:    c.of(available),
		Unavailable:  c.of(desired) - c.of(available),
		Updated:      c.of(updated),
		Misscheduled: c.of(misscheduled),
	}, complete
}

// marks are the counts to which a node adds one.
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
	surging     // it has a new pod next to the old one: counts against maxSurge
	serving     // it has an available pod, wanted there or not
	behind      // its old pod is still to be replaced

	numberOfCounts = 11
)

// counts is how many nodes have each mark.
type counts [numberOfCounts]int

func (c *counts) add(m marks) { c.change(m, 1) }

func (c *counts) remove(m marks) { c.change(m, -1) }

func (c *counts) change(m marks, by int) {
	for ; m != 0; m &= m - 1 {
		c[bits.TrailingZeros16(uint16(m))] += by
	}
}

func (c *counts) of(m marks) int { return c[bits.TrailingZeros16(uint16(m))] }
