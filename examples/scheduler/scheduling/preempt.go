package scheduling

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// A room is what has to leave a node so that a pod fits.
type room struct {
	node      *node
	victims   []*pod // the least important first
	forbidden int    // victims that a PodDisruptionBudget does not let go now
}

// compare orders rooms for a pod. The smaller one costs less.
func (r *room) compare(o *room, p *pod) int {
	nominated := func(r *room) int {
		if r.node == p.nominated {
			return 0
		}
		return 1
	}
	highest := func(r *room) int32 {
		if len(r.victims) == 0 {
			return math.MinInt32
		}
		return r.victims[len(r.victims)-1].priority
	}
	return cmp.Or(cmp.Compare(r.forbidden, o.forbidden), cmp.Compare(highest(r), highest(o)),
		cmp.Compare(len(r.victims), len(o.victims)), cmp.Compare(nominated(r), nominated(o)),
		cmp.Compare(r.node.name, o.node.name))
}

// expectsRoom reports whether a pod will fit on the node that it is nominated
// to when all pods have left that are leaving. It waits for that then.
func (s *Scheduler) expectsRoom(p *pod) bool {
	n := p.nominated
	if n == nil || s.avoided(n, p) != "" {
		return false
	}
	left := n.free(p)
	for _, q := range n.pods {
		if q.leaving() {
			left.add(q.requests, 1)
		}
	}
	return lacking(p.requests, left.of) == nil
}

// mayPreempt reports whether other pods may be made to leave for a pod.
func (s *Scheduler) mayPreempt(p *pod) bool {
	policy := p.object.Spec.PreemptionPolicy
	return !s.halted && (policy == nil || *policy != corev1.PreemptNever) && !s.expectsRoom(p)
}

// bestRoom returns the room that costs the least, nil if there is none.
func (s *Scheduler) bestRoom(p *pod) *room {
	var best *room
	for _, n := range s.nodes {
		if r := s.roomOn(n, p); r != nil && (best == nil || r.compare(best, p) < 0) {
			best = r
		}
	}
	return best
}

// roomOn returns what has to leave a node so that a pod fits, nil if it never
// will. All less important pods leave in thought. Then they come back, those
// that a budget keeps first and then the most important, as far as they fit.
func (s *Scheduler) roomOn(n *node, p *pod) *room {
	if s.avoided(n, p) != "" {
		return nil
	}
	left := n.free(p)
	var candidates []*pod
	for _, q := range n.pods {
		switch {
		case q.leaving():
			left.add(q.requests, 1)
		case q.evictable() && q.priority < p.priority:
			left.add(q.requests, 1)
			candidates = append(candidates, q)
		}
	}
	if lacking(p.requests, left.of) != nil {
		return nil
	}
	slices.SortFunc(candidates, (*pod).compare)
	kept, free := s.splitByBudgets(candidates)
	r := &room{node: n}
	for i, q := range slices.Concat(kept, free) {
		left.add(q.requests, -1)
		if lacking(p.requests, left.of) == nil {
			continue
		}
		left.add(q.requests, 1)
		r.victims = append(r.victims, q)
		if i < len(kept) {
			r.forbidden++
		}
	}
	slices.SortFunc(r.victims, func(a, b *pod) int { return b.compare(a) })
	return r
}

// splitByBudgets separates the pods whose eviction a PodDisruptionBudget would
// refuse, if those before them were evicted too.
func (s *Scheduler) splitByBudgets(pods []*pod) (kept, free []*pod) {
	spent := map[*budget]int32{}
	for _, q := range pods {
		keeps := q.refused
		for _, b := range s.budgets {
			if b.covers(q.object) {
				spent[b]++
				keeps = keeps || spent[b] > b.allowed
			}
		}
		if keeps {
			kept = append(kept, q)
		} else {
			free = append(free, q)
		}
	}
	return kept, free
}
