package scheduling

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/scheduler/fit"
)

// A room is what has to leave a node so that a pod fits.
type room struct {
	node      *node
	victims   []*pod // the least important first
	forbidden int    // victims that a PodDisruptionBudget does not let go now
}

// cost orders rooms for a pod.
func (r *room) cost(p *pod) score {
	highest := int64(math.MinInt64)
	if len(r.victims) > 0 {
		highest = int64(r.victims[len(r.victims)-1].priority)
	}
	return score{int64(r.forbidden), highest, int64(len(r.victims)), one(r.node != p.nominated)}
}

// expectsRoom reports whether a pod will fit on the node that it is nominated
// to when all pods have left that are leaving. It waits for that then.
func (s *Scheduler) expectsRoom(p *pod) bool {
	n := p.nominated
	if n == nil || s.avoided(n, p) != "" {
		return false
	}
	left := n.freeSoon(p)
	return fit.Lacking(p.Requests, left.Of) == nil
}

// mayPreempt reports whether other pods may be made to leave for a pod.
func (s *Scheduler) mayPreempt(p *pod) bool {
	policy := p.object.Spec.PreemptionPolicy
	return !s.halted() && (policy == nil || *policy != corev1.PreemptNever) && !s.expectsRoom(p)
}

// bestRoom returns the room that costs the least, nil if there is none.
func (s *Scheduler) bestRoom(p *pod) *room {
	var best *room
	var least score
	for _, n := range s.nodes {
		r := s.roomOn(n, p)
		if r == nil {
			continue
		}
		if cost := r.cost(p); best == nil || cost.before(n, least, best.node) {
			best, least = r, cost
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
	left := n.freeSoon(p)
	var candidates []*pod
	for _, q := range n.pods {
		if q.evictable() && q.priority < p.priority {
			left.Add(q.Requests, 1)
			candidates = append(candidates, q)
		}
	}
	if fit.Lacking(p.Requests, left.Of) != nil {
		return nil
	}
	slices.SortFunc(candidates, (*pod).compare)
	kept, free := s.splitByBudgets(candidates)
	r := &room{node: n}
	for i, q := range slices.Concat(kept, free) {
		left.Add(q.Requests, -1)
		if fit.Lacking(p.Requests, left.Of) == nil {
			continue
		}
		left.Add(q.Requests, 1)
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
