package scheduling

import (
	"github.com/kubelife/lifecycle/examples/scheduler/fit"
	"github.com/kubelife/lifecycle/zone"
)

// avoided returns why a pod must not be on a node however empty it is, empty if
// it may.
func (s *Scheduler) avoided(n *node, p *pod) string {
	if n.object == nil {
		return "node(s) were gone"
	}
	if reason := p.Mismatch(n.object, s.config.Matcher); reason != "" {
		return reason
	}
	if s.barred(p).Have(n.object) {
		return fit.ReasonAntiAffinity
	}
	if s.suspended {
		return "" // the observer may be at fault
	}
	if s.seen.Silent(n.name) {
		return ReasonSilent
	}
	if zoneOf, _ := s.seen.ZoneOf(n.name); zoneOf.State == zone.FullDisruption && !zone.Excluded(n.object) {
		return ReasonZone
	}
	return ""
}

// barred returns the areas that pods on nodes keep a pod out of. It visits
// these pods only after a change, because many nodes are asked about each pod.
func (s *Scheduler) barred(p *pod) fit.Areas {
	if p.barredAt != s.exclusions {
		p.barred, p.barredAt = fit.Areas{}, s.exclusions
		for _, q := range s.excluding {
			if q.on.object != nil {
				q.Bar(p.barred, p.object, q.on.object)
			}
		}
	}
	return p.barred
}

// refusals returns why a node refuses a pod, nil if it does not.
func (s *Scheduler) refusals(n *node, p *pod) []string {
	if reason := s.avoided(n, p); reason != "" {
		return []string{reason}
	}
	return n.shortages(p)
}
