package rollout

import "k8s.io/apimachinery/pkg/types"

// PodPhases returns the phase of each pod that a planner knows: that of its
// deletion, or how it was seen.
func (p *Planner) PodPhases() map[types.UID]string {
	all := make(map[types.UID]string, len(p.known.pods))
	for _, s := range p.known.pods {
		all[s.pod.UID] = s.seen.String()
		if s.deletion.unresolved() {
			all[s.pod.UID] = s.deletion.String()
		}
	}
	return all
}

// CreationPhases returns the phase of the creations of each node with a record.
func (p *Planner) CreationPhases() map[string]string {
	all := make(map[string]string, len(p.known.states))
	for _, n := range p.known.states {
		all[n.name] = n.creationPhase().String()
	}
	return all
}

// WaitOf returns what one node waits for. The reason is empty if it waits for
// nothing.
func (p *Planner) WaitOf(node string) Wait {
	complete := p.evaluateChanges()
	if n := p.known.lookup(node); n != nil {
		return p.waitOf(n, complete)
	}
	return Wait{Node: node}
}

// Records returns how many records planners keep of nodes that exist, those of
// planners that were closed included.
func (s *Nodes) Records() int {
	records := 0
	for _, stored := range s.all {
		records += len(stored.states)
	}
	return records
}

// Agrees returns what does not agree in a planner: counts, queues and lists
// with the phases and situations of the records.
func (p *Planner) Agrees() string {
	created, unresolved, deleting, creating := 0, 0, 0, 0
	for _, s := range p.known.pods {
		if s.seen == sightingCreated {
			created++
		}
		if s.deletion.unresolved() {
			unresolved++
		}
		if s.deletion.isUnderWay() {
			deleting++
		}
		timed := false
		if p.timers.pods != nil {
			_, timed = p.timers.pods.Find(s.pod.Name)
		}
		switch {
		case timed != s.mayRead():
			return "what is to be read is not what awaits the watch"
		case s.reading && s.deletion.isUnderWay():
			return "a read is not overtaken by the deletion"
		}
	}
	for i, n := range p.known.states {
		switch {
		case int(n.index) != i || p.known.lookup(n.name) != n:
			return "the records of nodes are not those by name"
		case (n.stored == nil) != (p.known.gone[n.name] == n):
			return "a node is gone and is not"
		case n.staleAt != 0 && p.known.stale[n.staleAt-1] != n:
			return "a node is stale and is not"
		case n.sent != nil && n.sent.phase == creationIdle:
			return "what was sent is not what the phase says"
		}
		if n.creating() {
			creating++
		}
	}
	switch {
	case created != p.calls.created:
		return "created"
	case unresolved != p.calls.unresolved:
		return "unresolved"
	case deleting != p.calls.deletions.underWay:
		return "deletions under way"
	case creating != p.calls.creations.underWay:
		return "creations under way"
	}
	return ""
}
