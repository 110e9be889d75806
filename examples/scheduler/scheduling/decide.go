package scheduling

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/scheduler/fit"
	"github.com/kubelife/lifecycle/zone"
)

// rank orders a node among those that fit a pod.
func (s *Scheduler) rank(now time.Time, n *node, p *pod) score {
	heard, ok := s.health.LastHeartbeat(n.name)
	zoneOf, _ := s.seen.ZoneOf(n.name)
	return score{
		one(zoneOf.State == zone.PartialDisruption),
		one(ok && now.Sub(heard) > s.config.FreshFor),
		int64(p.Disliked(n.object, s.config.Matcher)),
		-p.Preferred(n.object),
		-leftThousandths(n, p),
	}
}

// decide returns the node to bind a pod to, or a decision without one and why.
// With a room, its victims have to leave first.
func (s *Scheduler) decide(now time.Time, p *pod) (*node, *room, Decision) {
	d := Decision{Unsupported: p.Unsupported, Refusals: map[string]int{}}
	if p.Unsupported != "" {
		return nil, nil, d
	}
	var best *node
	var first score
	for _, n := range s.nodes {
		if n.object == nil {
			continue
		}
		d.Nodes++
		reasons := s.refusals(n, p)
		for _, reason := range reasons {
			d.Refusals[reason]++
		}
		if len(reasons) > 0 {
			continue
		}
		r := s.rank(now, n, p)
		if best == nil || n == p.nominated || best != p.nominated && r.before(n, first, best) {
			best, first = n, r
		}
	}
	switch {
	case best != nil:
		d.Node = best.name
		return best, nil, d
	case s.expectsRoom(p):
		waits := &room{node: p.nominated, victims: p.sortedVictims()}
		d.Node, d.Victims = waits.node.name, objectsOf(waits.victims)
		return nil, waits, d
	case s.mayPreempt(p):
		if room := s.bestRoom(p); room != nil {
			d.Node, d.Victims = room.node.name, objectsOf(room.victims)
			return nil, room, d
		}
	}
	d.NewNode = fit.NewNode(&p.Pod, s.config.Templates, maps.Values(s.sets), s.config.Matcher)
	return nil, nil, d
}

func objectsOf(pods []*pod) []*corev1.Pod {
	var objects []*corev1.Pod
	for _, p := range pods {
		objects = append(objects, p.object)
	}
	return objects
}
