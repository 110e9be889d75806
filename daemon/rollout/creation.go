package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// creation is a creation that was handed out and is not settled.
type creation struct {
	Creation

	spec         *Spec
	unansweredAt time.Time   // when it was known last that there is no answer
	epoch        int32       // calls.epoch when it was handed out
	gone         []types.UID // pods for the node whose end was observed since
	phase        creationPhase
}

// creationPhase is the life of the creations for a node:
//
//	idle ──handed out──► underWay ──answered──► idle
//	                     underWay ──no answer─► unanswered
//	unanswered ──handed out again──► again ──answered──► idle
//	                                 again ──refused, or no answer──► unanswered
//	underWay, again ──its pod is shown──► shown ──answered, or no answer──► idle
//	unanswered ──its pod is shown, or not in time──► idle
//
// A creation has a name of its own, so that to send it again is harmless. Until
// it is answered no other one is sent: its pod may exist, and two pods of the set
// would run on the node. So the same one is sent again, also if the template has
// changed since. It is not if no pod should be created any more.
type creationPhase uint8

const (
	// creationIdle: the node has no creation.
	creationIdle creationPhase = iota
	// creationUnderWay: a task is handed out.
	creationUnderWay
	// creationUnanswered: it is unknown whether the pod was created.
	creationUnanswered
	// creationAgain: the task is handed out once more.
	creationAgain
	// creationShown: a task is handed out, and the watch has shown its pod.
	creationShown
)

func (c creationPhase) String() string {
	return [...]string{"idle", "underWay", "unanswered", "again", "shown"}[c]
}

// creationPhase returns the phase of creations for a node.
func (n *nodeState) creationPhase() creationPhase {
	if n.sent == nil {
		return creationIdle
	}
	return n.sent.phase
}

// enterCreation changes the phase of creations. No other function does.
func (n *nodeState) enterCreation(to creationPhase) {
	n.sent.phase = to
	if to == creationIdle {
		n.sent = nil
	}
}

// creating reports whether a creation is under way.
func (n *nodeState) creating() bool {
	phase := n.creationPhase()
	return phase != creationIdle && phase != creationUnanswered
}

// beginCreation begins a creation and returns it. It is the former one again if
// that was not answered.
func (n *nodeState) beginCreation(why StepReason, spec *Spec, epoch int32) *creation {
	to := creationAgain
	if n.sent == nil {
		n.sent = &creation{
			Creation: Creation{Node: n.name, Attempt: n.attempt, Revision: spec.Revision}, spec: spec,
		}
		to = creationUnderWay
	}
	n.sent.Reason, n.sent.epoch = why, epoch
	n.enterCreation(to)
	return n.sent
}

// shown records that the watch has shown a pod of a revision. A creation of it
// needs no answer any more.
func (n *nodeState) shown(revision string) {
	switch {
	case n.sent == nil || n.sent.Revision != revision:
	case n.sent.phase == creationUnanswered:
		n.enterCreation(creationIdle)
	default:
		n.enterCreation(creationShown)
	}
}

// endCreation ends the creation that is under way. A refusal says nothing of the
// call before.
func (n *nodeState) endCreation(outcome Outcome, now time.Time) {
	switch {
	case n.sent.phase == creationShown:
		n.enterCreation(creationIdle)
	case outcome == OutcomeFailed:
		n.sent.unansweredAt = now
		n.enterCreation(creationUnanswered)
	case outcome.undone() && n.sent.phase == creationAgain:
		n.enterCreation(creationUnanswered)
	default:
		n.enterCreation(creationIdle)
	}
}
