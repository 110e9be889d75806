package judge

import (
	"slices"
	"time"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// empties judges a call by which a pod leaves because its node is emptied. The
// first one is the turn of the node, all others follow without one.
func (s *sent) empties() {
	p, n := s.process, s.pod.on
	if at := s.at + s.settings.Skew; at >= s.due.taints || at < s.due.any {
		return
	}
	ill := s.illness()
	if ill == nil || p.emptying(ill) {
		sparedInOutage(s, n)
		return
	}
	s.turn(n)
	if ill.emptied == nil {
		ill.emptied = make(map[*network.Client]time.Duration)
	}
	ill.emptied[p.client] = s.at
	n.visit = 0
}

// illness returns that by which a process empties a node, by the latest version
// that it may have gone by.
func (s *sent) illness() *illness {
	for _, v := range slices.Backward(s.known) {
		if v.ill != nil {
			return v.ill
		}
	}
	return nil
}

// emptying reports whether a process empties a node for an illness. When all
// zones were down since, the timeout begins again.
func (p *process) emptying(ill *illness) bool {
	at, emptied := ill.emptied[p.client]
	outage := &p.judge.cluster.outage
	return emptied && !(outage.ever && outage.from > at)
}

// turnFrom returns since when the turn of a call may have been: that of a node
// that is emptied may have been before there was a token for its pod.
func (s *sent) turnFrom(n *node) (from time.Duration, sure bool) {
	p := s.process
	if s.node != nil {
		return s.after, true
	}
	ill := s.illness()
	from = max(ill.earliest(p), s.resumed()) + s.settings.Timeout
	if known := s.knownAt(n); known >= 0 {
		from = max(from, known)
	}
	// If the pod came later, or the node moved, it cannot be said when the node had
	// its turn: one without pods uses no token.
	arrived, seen := s.pod.arrived.seen[p.client]
	return min(from, s.after), n.moved < from && seen && (arrived < ill.stored || arrived <= p.synced)
}
