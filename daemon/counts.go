package daemon

import "math/bits"

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
