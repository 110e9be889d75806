package daemon

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// dropped is the index of a record that may still be in Planner.stale.
const dropped = -1

// departed is the index of a planner that was closed.
const departed = -1

func (p *Planner) closed() bool { return p.index == departed }

func (n *nodeState) object() *corev1.Node {
	if n.stored == nil {
		return nil
	}
	return n.stored.object
}

// creating reports whether a creation is under way.
func (n *nodeState) creating() bool {
	return n.creation == creationUnderWay || n.creation == creationRetried
}

// doubts reports whether a pod of the revision may exist because the answer to
// its creation was lost.
func (n *nodeState) doubts(revision string) bool {
	return n.inDoubt() && n.unclear.Revision == revision
}

func (n *nodeState) inDoubt() bool {
	switch n.creation {
	case creationUnclear, creationRetried, creationReading:
		return true
	case creationIdle, creationUnderWay:
	}
	return false
}

// held reports whether no pod of the revision may be created, because that of
// an unclear creation may exist. A creation under the same name is harmless.
func (n *nodeState) held(revision string) bool {
	return n.creation == creationReading || n.inDoubt() && n.unclear.Revision != revision
}

// answers reports whether the answer to a call of ours may be about a pod of
// the node that is gone by then.
func (n *nodeState) answers() bool { return n.creating() || n.creation == creationReading }

// enterCreation changes the phase of creations.
func (n *nodeState) enterCreation(to creationPhase) {
	n.creation = to
	if !n.inDoubt() {
		n.unclear = nil
	}
}

// beginCreation begins a creation.
func (n *nodeState) beginCreation() {
	if n.creation == creationUnclear {
		n.enterCreation(creationRetried)
		return
	}
	n.enterCreation(creationUnderWay)
}

// shown ends an unclear creation whose pod the watch has shown, unless another
// call for it may still arrive.
func (n *nodeState) shown(revision string) {
	if n.creation == creationUnclear && n.doubts(revision) && !n.unclear.retried {
		n.enterCreation(creationIdle)
	}
}

// endCreation ends the creation that is under way. Without an answer it is
// unclear, and read after the timeout.
func (n *nodeState) endCreation(
	step *Creation, outcome Outcome, now time.Time, timeout time.Duration,
) {
	retried := n.creation == creationRetried
	switch {
	case outcome == OutcomeFailed:
		n.unclear = &unclearCreation{*step, now.Add(timeout), retried}
		n.enterCreation(creationUnclear)
	case retried && (outcome == OutcomeRefused || now.Before(n.unclear.readFrom)):
		n.unclear.retried = true
		n.enterCreation(creationUnclear) // the answer is not about the earlier call
	default:
		n.enterCreation(creationIdle)
	}
}

func (n *nodeState) place(placement *Placement) {
	n.decision = placed{}
	if n.stored != nil {
		decision := placement.Place(n.stored.object)
		n.decision = placed{decision.ShouldRun, decision.ShouldContinue}
	}
}

// forgetFailures forgets the failures on a node, because the next try is for
// another revision or machine.
func (n *nodeState) forgetFailures() {
	n.refused, n.failed = failures{}, failures{}
	for s := n.pods; s != nil; s = s.next {
		s.counted = false
	}
}

// replace records that the deletion of a terminal pod is handed out. Other pods
// that may be replaced now are counted with it, so that the number of workers
// makes no difference. The next wait begins with the last of them.
func (n *nodeState) replace(s *podState, now time.Time) {
	if s.counted {
		s.counted, n.failed.last = false, now
		return
	}
	n.failed.replaced(now)
	for other := n.pods; other != nil; other = other.next {
		due := !now.Before(other.refused.retry())
		if other != s && other.leave.ofTerminal() && due {
			other.counted = true
		}
	}
}

// rememberedUntil returns until when a node without a pod keeps its failures.
// It may need a pod again.
func (n *nodeState) rememberedUntil() time.Time {
	var until time.Time
	for _, f := range []*failures{&n.refused, &n.failed} {
		if end := f.last.Add(2 * longestBackoff); f.times > 0 && end.After(until) {
			until = end
		}
	}
	return until
}

// idle reports whether a node's record has no pods and no creation.
func (n *nodeState) idle() bool { return n.pods == nil && n.creation == creationIdle }

// attach links a record with its node.
func (n *nodeState) attach(stored *storedNode) {
	n.stored = stored
	last := len(stored.states) - 1
	if last < 0 || stored.states[last].planner.id < n.planner.id { // as with one planner
		stored.states = append(stored.states, n)
		return
	}
	at, _ := stored.search(n.planner)
	stored.states = slices.Insert(stored.states, at, n)
}

// detach unlinks a record from its node, unless that is gone.
func (n *nodeState) detach() {
	if n.stored == nil {
		return
	}
	if at, found := n.stored.search(n.planner); found {
		n.stored.states = slices.Delete(n.stored.states, at, at+1)
	}
	n.stored = nil
}

// keep makes a record of a node.
func (p *Planner) keep(name string, stored *storedNode) *nodeState {
	n := &nodeState{
		name: name, planner: p, index: int32(len(p.states)),
		revision: p.revision, ranking: p.ranking,
	}
	p.states = append(p.states, n)
	if stored == nil {
		p.gone[name] = n
		return n
	}
	n.attach(stored)
	n.machine = stored.object.UID
	return n
}

// drop forgets a record. It is in no queue.
func (p *Planner) drop(n *nodeState) {
	if n.stored == nil {
		delete(p.gone, n.name)
	}
	p.timers.Remove(n.name)
	last := len(p.states) - 1
	p.states[n.index] = p.states[last]
	p.states[n.index].index = n.index
	p.states[last] = nil
	p.states = p.states[:last]
	n.index = dropped
	n.detach()
}

// lookup returns the record of a node, or nil.
func (p *Planner) lookup(name string) *nodeState {
	if stored := p.store.byName[name]; stored != nil {
		return stored.stateOf(p)
	}
	return p.gone[name]
}

// state returns the record of a node, and makes one if there is none.
func (p *Planner) state(name string) *nodeState {
	n := p.lookup(name)
	if n == nil {
		n = p.keep(name, p.store.byName[name])
		n.place(p.placement)
	}
	return n
}

// stateOf returns the record that a planner keeps of a node, or nil.
func (n *storedNode) stateOf(p *Planner) *nodeState {
	if len(n.states) == 1 && n.states[0].planner == p { // as with one planner
		return n.states[0]
	}
	if at, found := n.search(p); found {
		return n.states[at]
	}
	return nil
}

func (n *storedNode) search(p *Planner) (int, bool) {
	return slices.BinarySearchFunc(n.states, p.id, func(n *nodeState, id int) int {
		return cmp.Compare(n.planner.id, id)
	})
}

func (f *fifo) push(n *nodeState) { f.nodes = append(f.nodes, n) }

// markStale has a node evaluated before the next decision. Many changes of one
// node make one evaluation.
func (p *Planner) markStale(n *nodeState) {
	if !n.stale {
		n.stale = true
		p.stale.push(n)
	}
	if !p.reported {
		p.reported = true
		p.store.changed = append(p.store.changed, p)
	}
}
