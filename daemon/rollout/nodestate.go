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

	attempt int           // part of the name of the next pod
	sent    *sentCreation // that is under way or was not answered; nil in creationIdle
	refused failures      // creations
	failed  failures      // pods that had failed and were deleted

	situation situation
	order     order
	slots     [numberOfQueues]int32 // where it is in the queues; zero: not in it
	index     int32                 // in Planner.states; dropped: it left them
	revision  int32                 // Planner.revision that its failures are of
	ranking   int32                 // Planner.ranking that its slots are of
	epoch     int32                 // calls.epoch of the creation under way

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
	return n.creation == creationUnderWay || n.creation == creationAgain
}

// enterCreation changes the phase of creations.
func (n *nodeState) enterCreation(to creationPhase) {
	n.creation = to
	if to == creationIdle {
		n.sent = nil
	}
}

// beginCreation begins a creation and returns it. It is the former one again if
// that was not answered.
func (n *nodeState) beginCreation(why StepReason, spec *Spec) *sentCreation {
	if n.creation == creationUnanswered {
		n.sent.Reason = why
		n.enterCreation(creationAgain)
		return n.sent
	}
	n.sent = &sentCreation{
		Creation: Creation{Node: n.name, Reason: why, Attempt: n.attempt, Revision: spec.Revision},
		spec:     spec,
	}
	n.enterCreation(creationUnderWay)
	return n.sent
}

// shown ends an unanswered creation whose pod the watch has shown. That of one
// that is under way needs no answer any more.
func (n *nodeState) shown(revision string) {
	switch {
	case n.sent == nil || n.sent.Revision != revision:
	case n.creation == creationUnanswered:
		n.enterCreation(creationIdle)
	default:
		n.sent.shown = true
	}
}

// endCreation ends the creation that is under way. A refusal says nothing of the
// call before.
func (n *nodeState) endCreation(outcome Outcome, now time.Time) {
	switch {
	case n.sent.shown:
		n.enterCreation(creationIdle)
	case outcome == OutcomeFailed:
		n.sent.unansweredAt = now
		n.enterCreation(creationUnanswered)
	case outcome == OutcomeRefused && n.creation == creationAgain:
		n.enterCreation(creationUnanswered)
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
		if other != s && other.leave.ofTerminal() && !other.leaving() && due {
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
//	                     underWay ──no answer─► unanswered
//	unanswered ──handed out again──► again ──answered──► idle
//	                                 again ──refused, or no answer──► unanswered
//	unanswered ──its pod is shown, or not in time──► idle
//	underWay, again ──no answer, and its pod was shown──► idle
//
// A creation has a name of its own, so that to send it again is harmless. Until
// it is answered no other one is sent: its pod may exist, and two pods of the set
// would run on the node. So the same one is sent again, also if the template has
// changed since. It is not if no pod should be created any more.
type creationPhase uint8

const (
	creationIdle creationPhase = iota
	// creationUnderWay: a task is handed out.
	creationUnderWay
	// creationUnanswered: it is unknown whether the pod was created.
	creationUnanswered
	// creationAgain: the task is handed out once more.
	creationAgain
)

func (c creationPhase) String() string {
	return [...]string{"idle", "underWay", "unanswered", "again"}[c]
}

// sentCreation is a creation that was handed out.
type sentCreation struct {
	Creation

	spec         *Spec
	shown        bool      // the watch has shown its pod meanwhile
	unansweredAt time.Time // when it was known last that there is no answer
}
