package rollout

import "k8s.io/apimachinery/pkg/types"

// PodPhases returns the phase of each pod that a planner knows.
func (p *Planner) PodPhases() map[types.UID]string {
	all := make(map[types.UID]string, len(p.pods))
	for _, s := range p.pods {
		all[s.pod.UID] = s.phase.String()
	}
	return all
}

// CreationPhases returns the phase of the creations of each node with a record.
func (p *Planner) CreationPhases() map[string]string {
	all := make(map[string]string, len(p.states))
	for _, n := range p.states {
		all[n.name] = n.creation.String()
	}
	return all
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
	created, unsettled, deleting, creating := 0, 0, 0, 0
	for _, s := range p.pods {
		if s.former == podCreated {
			created++
		}
		if s.phase.isDeletion() {
			unsettled++
		} else if s.former != s.phase {
			return "a pod without a deletion has another former phase"
		}
		if s.phase.isUnderWay() {
			deleting++
		}
	}
	for i, n := range p.states {
		switch {
		case int(n.index) != i || p.lookup(n.name) != n:
			return "the records of nodes are not those by name"
		case (n.stored == nil) != (p.gone[n.name] == n):
			return "a node is gone and is not"
		case (n.creation == creationIdle) != (n.sent == nil):
			return "what was sent is not what the phase says"
		}
		if n.creating() {
			creating++
		}
	}
	switch {
	case created != p.unseen.created:
		return "created"
	case unsettled != p.unresolved:
		return "unsettled"
	case deleting != p.deletions.underWay:
		return "deletions under way"
	case creating != p.creations.underWay:
		return "creations under way"
	}
	return ""
}
