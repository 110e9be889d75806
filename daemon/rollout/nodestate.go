package rollout

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon"
)

// nodeState is a planner's record of a node that should have a pod, or has
// pods, a creation or failures. The node may be gone.
type nodeState struct {
	name    string
	planner *Planner
	stored  *storedNode // nil: the node is gone
	machine types.UID   // of the node, or of the last one with the name
	pods    *podState   // the first one for this node

	attempt int              // part of the name of the next pod
	unclear *unclearCreation // nil unless it is inDoubt
	refused failures         // creations
	failed  failures         // pods that had failed and were deleted

	situation situation
	order     order
	slots     [numberOfQueues]int32 // where it is in the queues; zero: not in it
	index     int32                 // in Planner.states; dropped: it left them
	revision  int32                 // Planner.revision that its failures are of
	ranking   int32                 // Planner.ranking that its slots are of
	epoch     int32                 // calls.epoch of the creation, or its read, under way

	creation creationPhase
	decision placed
	stale    bool // it is in Planner.stale
	// taken says that the rollout has deleted its available pod and it has had no
	// other one since.
	taken bool
}

// dropped is the index of a record that may still be in Planner.stale.
const dropped = -1

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

func (n *nodeState) place(placement *daemon.Placement) {
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

// placed is the part of a [daemon.Decision] that a record keeps.
type placed struct{ shouldRun, shouldContinue bool }

// creationPhase is the life of the creations for a node:
//
//	idle ──handed out──► underWay ──answered──► idle
//	                     underWay ──no answer─► unclear
//	unclear ──the same one handed out──► retried
//	                             retried ──answered late──► idle
//	                             retried ──otherwise──────► unclear
//	unclear ──read handed out──► reading ──there, or not──► idle
//	                             reading ──no answer──────► unclear
//	unclear, not retried ──shown──► idle
//
// An answer to a retry is late if it comes when the creation may be read. Until
// then the first call may still arrive, after the pod of the retry has gone.
//
// Only idle permits a creation under another name. The pod of the unclear one
// may still appear, and two pods of the set would run on the node.
type creationPhase uint8

const (
	creationIdle creationPhase = iota
	// creationUnderWay: a task is handed out.
	creationUnderWay
	// creationUnclear: an answer was lost, and the pod may exist or appear. The
	// next creation of its revision has the same name.
	creationUnclear
	// creationRetried: a task is handed out, and an earlier one is unclear.
	creationRetried
	// creationReading: the pod of the unclear creation is being read. Only the
	// result ends this phase, so that two reads never overlap.
	creationReading
)

func (c creationPhase) String() string {
	return [...]string{"idle", "underWay", "unclear", "retried", "reading"}[c]
}

// unclearCreation is a creation whose answer was lost.
type unclearCreation struct {
	Creation

	// readFrom is when the call has arrived, or never will, so that a read says
	// whether there is a pod.
	readFrom time.Time
	retried  bool // more than one call for it may arrive
}
