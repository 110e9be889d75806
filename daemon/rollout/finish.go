package rollout

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon"
)

// Finish records how a task ended. Each task is to be finished once; a second
// result, and one for a pod or node that is gone, changes nothing.
func (p *Planner) Finish(now time.Time, task Task, result Result) {
	p.advance(now)
	switch {
	case task.Create != nil:
		p.finishCreation(task.Create, &result)
	case task.Delete != nil:
		p.finishDeletion(task.Delete, &result)
	case task.Refresh != nil:
		p.finishRefresh(task.Refresh, &result)
	}
}

// creationOutcome returns the outcome of a creation that counts.
func (r *Result) creationOutcome() Outcome {
	switch outcome := r.outcome(); {
	case outcome == OutcomeDone && r.Pod != nil,
		outcome == OutcomeNameTaken, outcome == OutcomeRefused:
		return outcome
	}
	return OutcomeFailed
}

func (p *Planner) finishCreation(step *Creation, result *Result) {
	n := p.lookup(step.Node)
	if n == nil || !n.creating() {
		return // it was finished before
	}
	p.startRevision(n)
	p.creations.underWay--
	p.markStale(n)
	outcome := result.creationOutcome()
	n.endCreation(outcome, p.now)
	switch {
	case outcome == OutcomeDone:
		n.created(result.Pod, p.now)
		p.creations.succeeded(n.epoch)
		p.write(result.Pod)
	case outcome == OutcomeNameTaken && result.Pod != nil: // mostly one that is being deleted
		n.attempt++
		p.write(result.Pod)
	case outcome == OutcomeNameTaken: // another owner may have the next name too
		n.attempt++
		p.refuseCreation(n)
	default:
		p.refuseCreation(n)
	}
}

// refuseCreation counts a creation that was not done.
func (p *Planner) refuseCreation(n *nodeState) {
	n.refused.add(p.now)
	p.creations.failed(n.epoch, p.now)
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

// write records a pod that we created, which the watch may have shown
// meanwhile.
func (p *Planner) write(pod *corev1.Pod) {
	known := p.pods[pod.Name]
	if p.tombstones.how[pod.UID] != 0 || known != nil && known.pod.UID == pod.UID {
		return
	}
	if known != nil {
		if olderVersion(pod, known.pod) {
			return // it was deleted meanwhile, and another one has its name
		}
		p.remove(known)
	}
	s := p.add(pod, podCreated)
	s.answeredAt = p.now
	p.unseen.expect(s, p.now)
}

func (p *Planner) finishDeletion(step *Deletion, result *Result) {
	s := p.pods[step.Pod]
	if s == nil || s.pod.UID != step.UID || !s.phase.isUnderWay() {
		return // the watch has shown its end, or the task was finished before
	}
	if s.node != nil {
		p.markStale(s.node)
	}
	outcome := result.outcome()
	if outcome == OutcomeDone || outcome == OutcomeGone {
		p.deletions.succeeded(s.epoch)
	} else {
		s.refused.add(p.now)
		p.deletions.failed(s.epoch, p.now)
	}
	switch {
	case outcome == OutcomeGone:
		p.vanish(s)
	case s.pod.DeletionTimestamp != nil, // shown meanwhile
		outcome == OutcomeRefused && s.phase == podDeleting:
		p.enter(s, s.former, s.former)
		if s.expected() {
			p.unseen.expect(s, s.written)
		}
	case outcome == OutcomeDone:
		p.enter(s, podDeletionAccepted, s.former)
		p.unseen.expect(s, p.now)
	case outcome == OutcomeRefused: // which says nothing of the call before
		p.enter(s, podDeletionUnanswered, s.former)
		p.unseen.expect(s, s.written)
	default:
		p.enter(s, podDeletionUnanswered, s.former)
		p.unseen.expect(s, p.now)
	}
}
