package eviction

import "k8s.io/apimachinery/pkg/types"

// SetSlice makes one Reevaluate visit so many records at most.
func (t *Tracker) SetSlice(records int) { t.slice = records }

// Visited returns how many records were visited since it was last called.
func (t *Tracker) Visited() int {
	visited := t.visited
	t.visited = 0
	return visited
}

// Stale reports whether a pod is still to be decided again after SuspendTaints.
func (t *Tracker) Stale(id types.UID) bool {
	e, known := t.evictions.Find(id)
	if !known {
		return false
	}
	n := e.Value().placement.node
	if n.decided == t.generation || len(n.taints) == 0 {
		return false
	}
	if n == t.stale.on {
		return int(e.Value().slot) < t.stale.pods
	}
	return n.slot < t.stale.nodes
}
