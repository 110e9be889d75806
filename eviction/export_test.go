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
	if n.stale(e) {
		return true
	}
	return n.decided != t.generation && len(n.taints) > 0 && n.slot < t.stale.nodes
}

// all returns how many things are counted, by second.
func (c *tally) all() map[second]int {
	all := map[second]int{}
	for e := range c.past.All() {
		all[e.Key()] += (*e.Value()).things
	}
	for e := range c.future.All() {
		all[e.Key()] += (*e.Value()).things
	}
	return all
}
