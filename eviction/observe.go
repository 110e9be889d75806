package eviction

import (
	"time"
	"unique"

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
	next := t.rules.noExecute(observed, n.taints, now, same || t.synced)
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
	s := t.subjectOf(now, observed)
	var shares []string
	for _, b := range t.byPod {
		share := ""
		if b.ByPod != nil {
			share = b.ByPod(observed)
		}
		shares = append(shares, share)
	}
	t.observe(now, &s, shares)
}

// observe takes a subject with its shares of the budgets that are not by place.
func (t *Tracker) observe(now time.Time, s *Subject, shares []string) {
	e := t.pod(now, s)
	p := e.Value()
	p.tolerations = s.Tolerations
	p.generation = s.generation
	p.kind = s.kind()
	p.marked = s.marked
	t.place(e, s.Priority, shares)
	a := t.running[e.Key()]
	if s.Leaving && (p.marked || a != nil || t.evictions.Occupied(e)) {
		t.countUntil(now, e, s.until)
	}
	switch {
	case a != nil:
		a.observed = true
		a.terminating = s.Leaving
	case s.Leaving:
		t.enter(now, e, leaving, plan{})
	case p.state == leaving:
		t.uncount(e)
		t.enter(now, e, staying, plan{})
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
		n.placement.node = n
		t.nodes[name] = n
		t.ordered = append(t.ordered, n)
	}
	return n
}

// pod returns the entry of a pod, a new one if it was not known.
func (t *Tracker) pod(now time.Time, s *Subject) *entry {
	id := s.ID()
	e, isNew := t.evictions.Keep(id, pod{})
	if !isNew && e.Value().placement.node.name == s.On {
		return e
	}
	if !isNew {
		t.forget(now, e) // cannot happen to a real pod: a binding is permanent
		e, _ = t.evictions.Keep(id, pod{})
	}
	n := t.node(s.On)
	*e.Value() = pod{
		namespace: unique.Make(s.Namespace),
		name:      s.Name,
		placement: &n.placement,
		arrived:   StartTime(s.since(), now, t.synced).Sub(t.epoch),
	}
	n.addPod(e)
	if len(t.byPod) == 0 { // else its place has to be known first
		t.refile(e)
	}
	if a := t.running[id]; a != nil {
		a.entry = e
		a.overtaken, a.observed, a.terminating = true, false, false
		t.enter(now, e, evicting, plan{})
	}
	return e
}

func (t *Tracker) forget(now time.Time, e *entry) {
	id, n := e.Key(), e.Value().placement.node
	if a := t.running[id]; a != nil {
		a.entry = nil
		a.signal.Store(true)
	}
	t.enter(now, e, staying, plan{})
	n.removePod(e)
	t.uncount(e)
	delete(t.histories, id)
	delete(t.requests, id)
	t.evictions.Drop(e)
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
