package rollout

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon"
)

// Finish records how a task ended. Each task is to be finished once; a second
// result, and one for a pod or node that is gone, changes nothing.
func (p *Planner) Finish(now time.Time, task Task, result Result) {
	p.known.advance(now)
	switch {
	case task.Create != nil:
		p.finishCreation(task.Create, &result)
	case task.Delete != nil:
		p.finishDeletion(&task, &result)
	case task.Refresh != nil:
		p.finishRefresh(task.Refresh, &result)
	}
}

// creationOutcome returns the outcome of a creation that counts.
func (r *Result) creationOutcome() Outcome {
	switch outcome := r.outcome(); {
	case outcome == OutcomeDone && r.Pod != nil,
		outcome == OutcomeNameTaken, outcome.undone():
		return outcome
	}
	return OutcomeFailed
}

func (p *Planner) finishCreation(step *Creation, result *Result) {
	n := p.known.lookup(step.Node)
	if n == nil || !n.creating() {
		return // it was finished before
	}
	n.startRevision(p.goal.revision)
	p.calls.creations.underWay--
	outcome, epoch := result.creationOutcome(), n.sent.epoch
	n.endCreation(outcome, p.known.now)
	if outcome == OutcomeNameTaken {
		n.attempt++
	}
	switch {
	case outcome == OutcomeDone:
		n.created(result.Pod, p.known.now)
		p.calls.creations.succeeded(epoch)
		p.known.write(result.Pod)
	case outcome == OutcomeNameTaken && result.Pod != nil: // mostly one that is being deleted
		p.known.write(result.Pod)
	case outcome == OutcomeNotNow:
		n.refused.add(p.known.now)
	default: // another owner that has the name may have the next one too
		n.refused.add(p.known.now)
		p.calls.creations.failed(epoch, p.known.now)
	}
	if n := p.known.lookup(step.Node); n != nil { // else it went with a pod that went
		p.known.markStale(n)
	}
}

// created records that a pod was created. If a webhook has rewritten the pod
// for another node, it counts as refused.
func (n *nodeState) created(pod *corev1.Pod, now time.Time) {
	n.attempt++
	if daemon.TargetNode(pod) == n.name {
		n.refused = failures{}
		return
	}
	n.refused.add(now)
}

func (p *Planner) finishDeletion(task *Task, result *Result) {
	step := task.Delete
	s := p.known.pods[step.Pod]
	if s == nil || s.pod.UID != step.UID || !s.deletion.isUnderWay() {
		return // the watch has shown its end, or the task was finished before
	}
	if s.node != nil {
		p.known.markStale(s.node)
	}
	outcome := deletionOutcome(task, result)
	switch outcome {
	case OutcomeDone, OutcomeGone, OutcomeUpdated:
		p.calls.deletions.succeeded(s.epoch)
	case OutcomeNotNow:
		s.refused.add(p.known.now)
	default:
		s.refused.add(p.known.now)
		p.calls.deletions.failed(s.epoch, p.known.now)
	}
	switch outcome {
	case OutcomeGone:
		p.known.vanish(s)
	case OutcomeUpdated:
		p.known.updateInPlace(s, result.Pod)
	default:
		p.known.endDeletion(s, outcome)
	}
}

// deletionOutcome returns the outcome of a deletion that counts. An update in
// place is one of the pod itself, for a rollout, to what was wanted.
func deletionOutcome(task *Task, result *Result) Outcome {
	outcome, pod := result.outcome(), result.Pod
	if outcome != OutcomeUpdated {
		return outcome
	}
	if pod == nil || pod.UID != task.Delete.UID || !task.Delete.Reason.ofRollout() ||
		task.Spec == nil || !task.Spec.updated(pod) {
		return OutcomeFailed
	}
	return outcome
}

func (p *Planner) finishRefresh(step *Refresh, result *Result) {
	s := p.known.pods[step.Pod]
	if s == nil || s.pod.UID != step.UID {
		return
	}
	switch outcome := result.outcome(); {
	case outcome == OutcomeGone:
		p.known.vanish(s)
	case outcome == OutcomeReleased:
		p.known.remove(s) // it may be adopted again
	case outcome == OutcomeDone && result.Pod != nil:
		p.known.recordRead(s, result.Pod)
	default:
		p.known.endRead(s)
	}
}
