package eviction

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ObserveNode takes a node as it is now. A node with another UID than before is
// new: it has none of the taints that the old one had, and is not evicted.
func (t *Tracker) ObserveNode(now time.Time, observed *corev1.Node) {
	now = t.advance(now)
	n := t.node(observed.Name)
	t.setShares(n, observed)
	same := n.state == present && n.uid == observed.UID
	if !same {
		n.reset(present, observed.UID)
	}
	asked, awaited := t.awaited[observed.Name]
	if awaited = awaited && n.evictFor(asked); awaited {
		delete(t.awaited, observed.Name)
	}
	next := t.config.noExecute(observed, n.taints, now, same || t.synced)
	if same && !awaited && equalTaints(n.taints, next) {
		return
	}
	n.taints = next
	t.decideNode(now, n)
}

// ForgetNode drops a node that was deleted. Its pods are not evicted for its
// taints any more.
func (t *Tracker) ForgetNode(now time.Time, name string) {
	now = t.advance(now)
	n, known := t.nodes[name]
	if !known {
		return
	}
	n.reset(unseen, "")
	t.decideNode(now, n)
	t.dropUnused(n)
}

// ObservePod takes a pod as it is now, which must not be older than what was
// observed of it before. A pod without a node is none of the tracker's. One that
// was terminating and is not any more, or has no node any more, is back from a
// backup of the API server's store, and counts as it is now. The pod must not be
// changed afterwards: its tolerations are kept, not copied.
func (t *Tracker) ObservePod(now time.Time, observed *corev1.Pod) {
	if observed.Spec.NodeName == "" {
		t.ForgetPod(now, KeyOf(observed).ID())
		return
	}
	now = t.advance(now)
	s := Subject{
		Key:         KeyOf(observed),
		On:          observed.Spec.NodeName,
		Tolerations: observed.Spec.Tolerations,
		Leaving:     observed.DeletionTimestamp != nil,
		Exempt:      t.config.exempts(observed),
		OfPlace:     isOfNode(observed),
		pod:         observed,
		generation:  int32(observed.Generation),
		marked:      hasDisruptionTarget(observed),
	}
	if t.config.LowPriorityFirst && observed.Spec.Priority != nil {
		s.Priority = *observed.Spec.Priority // else it is of no interest
	}
	for _, b := range t.byPod {
		share := ""
		if b.ByPod != nil {
			share = b.ByPod(observed)
		}
		s.shares = append(s.shares, share)
	}
	t.observe(now, &s)
}

func (t *Tracker) observe(now time.Time, s *Subject) {
	e := t.pod(now, s)
	p := e.Value()
	p.kind = s.kind()
	p.marked = s.marked
	t.setTraits(e, s)
	a := t.attemptOn(e)
	if s.Leaving && (p.marked || a != nil || t.evictions.Occupied(e)) {
		t.countUntil(now, e, s.terminatedBy(now))
	}
	switch {
	case a != nil:
		a.observed = true
		a.terminating = s.Leaving
	case s.Leaving:
		t.enter(now, e, leaving, nil)
	case p.state == leaving:
		t.uncount(e)
		t.enter(now, e, staying, nil)
	}
	t.decide(now, e)
}

// ForgetPod drops a pod that was deleted. The ID is its UID; see [Key.ID].
func (t *Tracker) ForgetPod(now time.Time, id types.UID) {
	now = t.advance(now)
	if e, known := t.evictions.Find(id); known {
		t.forget(now, e)
	}
}

// node returns the record of a node, a new one if there is none.
func (t *Tracker) node(name string) *node {
	n, known := t.nodes[name]
	if !known {
		n = &node{name: name, slot: len(t.ordered), shares: make([]string, len(t.byNode))}
		t.nodes[name] = n
		t.ordered = append(t.ordered, n)
	}
	return n
}

// pod returns the entry of a pod, a new one if it was not known.
func (t *Tracker) pod(now time.Time, s *Subject) *entry {
	id := s.ID()
	e, isNew := t.evictions.Keep(id, pod{})
	if !isNew && e.Value().node.name == s.On {
		return e
	}
	if !isNew {
		t.forget(now, e) // cannot happen to a real pod: a binding is permanent
		e, _ = t.evictions.Keep(id, pod{})
	}
	n := t.node(s.On)
	*e.Value() = pod{
		name:    s.Name,
		node:    n,
		arrived: StartTime(s.since(), now, t.synced).Sub(t.epoch),
	}
	n.addPod(e)
	if t.evictions.Acting(e) { // on its former record
		a := t.running[id]
		a.entry = e
		a.overtaken, a.observed, a.terminating = true, false, false
		t.enter(now, e, evicting, nil)
	}
	return e
}

// setTraits records what a pod has in common with others.
func (t *Tracker) setTraits(e *entry, s *Subject) {
	p := e.Value()
	former := p.traits
	if former != nil && former.areOf(s) {
		return
	}
	p.traits = t.recent.of(s)
	if former == nil || !former.waitAs(s) {
		t.refile(e)
	}
}

func (t *Tracker) forget(now time.Time, e *entry) {
	id, n := e.Key(), e.Value().node
	if a := t.attemptOn(e); a != nil {
		a.entry = nil
		a.signal.Store(true)
	}
	t.enter(now, e, staying, nil)
	n.removePod(e)
	t.uncount(e)
	if e.Value().noted {
		delete(t.notes, id)
	}
	t.evictions.Release(e)
	t.dropUnused(n)
}

func (t *Tracker) dropUnused(n *node) {
	if n.state != unseen || len(n.pods) > 0 {
		return
	}
	delete(t.nodes, n.name)
	last := len(t.ordered) - 1
	moved := t.ordered[last]
	t.ordered[n.slot], moved.slot = moved, n.slot
	t.ordered[last] = nil
	t.ordered = t.ordered[:last]
}
