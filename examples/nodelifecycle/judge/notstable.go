package judge

import (
	"slices"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

const (
	// Quiet: when nothing has changed for long, there are no calls, except about
	// the leader's lease and for what a PodDisruptionBudget keeps. [Q9]
	Quiet Invariant = "quiet"
	// NothingLeft: the process remembers exactly the nodes, pods and zones that
	// there are, and has nothing to do that need not be done. [H5, Z2]
	NothingLeft Invariant = "nothing left"
)

var notStable = rules{
	sent: []func(*sent){quiet},
	end:  []func(*Judge){nothingLeft},
}

// When nothing has changed for long there are no calls.
func quiet(s *sent) {
	if s.quiet && s.at >= s.quietFrom && !s.asksAgain() {
		s.accuse(Quiet, "nothing has changed since %v", s.quietFrom)
	}
}

// asksAgain reports whether a call asks again for an eviction that a
// PodDisruptionBudget has refused, or looks whether it still has to.
func (s *sent) asksAgain() bool {
	of := func(p *pod) bool { return p != nil && s.at <= p.refused+s.settings.CalmBound }
	switch n := s.nodes[s.call.Name]; {
	case s.call.Kind == network.Pods:
		return of(s.pods[s.call.Name])
	case s.call.Kind == network.Nodes && s.call.Verb == network.Get && n != nil:
		return slices.ContainsFunc(n.pods, of)
	}
	return false
}

// At the end a process remembers what there is, and no more.
func nothingLeft(j *Judge) {
	now := j.world.Elapsed()
	since, calm := j.subject.Calm()
	if !calm || j.subject.Acting() == nil || now < max(since+j.settings.CalmBound, j.changed+j.settings.bound()) {
		return
	}
	there, zones := Memory{}, make(map[zoneKey]bool)
	for _, n := range j.inOrder {
		there.Pods += len(n.pods)
		if n.object != nil {
			there.Nodes++
			zones[n.zone] = true
		}
		if n.waits() {
			there.Queued++
		}
		if len(n.latest().taints) > 0 || j.settings.ByNode && n.latest().ill != nil {
			there.Pending += len(n.pods)
		}
	}
	there.Zones = len(zones)
	m := j.subject.Memory()
	if m.Nodes != there.Nodes || m.Pods != there.Pods || m.Zones != there.Zones || m.Queued > there.Queued ||
		m.Pending > there.Pending {
		j.violated(NothingLeft, "", "%+v is remembered, but there is no more than %+v", m, there)
	}
}
