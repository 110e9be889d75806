package rollout

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// assessment is the evaluation of one node.
type assessment struct {
	situation
	wait  Wait      // why nothing is done, if something is missing
	until time.Time // when the situation changes by itself; zero: never

	goal *goal
	node *nodeState
	now  time.Time

	any       bool      // there are pods, even if all are leaving
	oldest    *podState // the one that the status is about
	staying   int       // pods that are not being deleted, failed ones too
	undecided bool      // a pod may stay: its deletion is not accepted yet
	failing   bool      // a failed pod may stay
	fresh     *podState // of the current revision, the one that stays
	outdated  *podState // of a former revision, the one that stays
	excess    bool      // there are more of the current or of former revisions
	terminal  *podState // that has terminated and stays
}

// assess decides about a node. It changes only the reasons for which the pods
// of the node leave, and what has ended with time.
func assess(n *nodeState, goal *goal, now time.Time) (a assessment) {
	a.node, a.goal, a.now = n, goal, now
	n.startRevision(goal.revision)
	for s := n.pods; s != nil; s = s.next {
		if !s.deletion.unresolved() {
			s.leave = ""
		}
	}
	a.expireCreation()
	switch {
	case n.stored == nil:
		a.nodeGone()
	case !n.decision.shouldContinue:
		a.misscheduled()
	default:
		a.classifyPods()
		a.count()
		a.createOrReplace()
		a.reconsider()
		a.rollOut()
	}
	for s := n.pods; s != nil; s = s.next {
		a.due(s)
		if s.leaving() && !s.ended() {
			a.unlessWaiting(WaitTerminating, s)
		}
	}
	if n.unneeded() {
		a.wake(n.rememberedUntil())
	}
	return a
}

// expireCreation ends an unanswered creation that is not sent again, because no
// pod should be there any more, or that is always refused. The watch would have
// shown its pod by now.
func (a *assessment) expireCreation() {
	if a.node.creationPhase() != creationUnanswered {
		return
	}
	end := a.node.sent.unansweredAt.Add(longestDelay)
	if a.now.Before(end) {
		a.wake(end)
		return
	}
	a.node.enterCreation(creationIdle)
}

// nodeGone leaves what was scheduled to the pod garbage collector. Nothing else
// deletes the other pods.
func (a *assessment) nodeGone() {
	for s := a.node.pods; s != nil; s = s.next {
		switch {
		case s.leaving() && !s.unanswered():
		case s.pod.Spec.NodeName == "":
			s.leave = StepNodeGone
		default:
			s.leave = ""
		}
	}
}

func (a *assessment) misscheduled() {
	for s := a.node.pods; s != nil; s = s.next {
		if s.ended() {
			continue
		}
		a.marks |= misscheduled
		if !s.leaving() || s.unanswered() {
			s.leave = StepMisscheduled
		}
	}
}

// reconsider drops the reasons of unanswered deletions that would no longer be
// made. Such a deletion is not sent again. What became of it is for the watch to
// show, or for a read after the timeout.
func (a *assessment) reconsider() {
	for s := a.node.pods; s != nil; s = s.next {
		if s.unanswered() && !a.stillDue(s) {
			s.leave = ""
		}
	}
}

// stillDue reports whether the unanswered deletion of a pod would be made again.
func (a *assessment) stillDue(s *podState) bool {
	switch s.leave {
	case StepPodFailed, StepPodSucceeded:
		return true
	case StepDuplicate:
		kept := a.fresh
		if kept == nil || a.goal.surges && !a.goal.spec.updated(s.pod) {
			kept = a.outdated
		}
		return kept != nil && a.value(kept) >= a.value(s)
	case StepReplaced:
		_, isReady := s.readySince()
		return !a.goal.spec.updated(s.pod) && a.fresh != nil && (!isReady || a.available(a.fresh))
	case StepOutdated, StepOutdatedUnavailable:
		return !a.goal.surges && !a.goal.spec.updated(s.pod) && a.staying == 0
	case StepMisscheduled, StepNodeGone, StepMissing, StepSurging:
	}
	return false
}

// classifyPods sets which pods are fresh, outdated, failed or duplicates.
func (a *assessment) classifyPods() {
	for s := a.node.pods; s != nil; s = s.next {
		if s.ended() {
			continue
		}
		a.any = true
		if a.oldest == nil || s.before(a.oldest) {
			a.oldest = s
		}
		if s.leaving() {
			a.undecided = a.undecided || !s.agreed() && !s.terminal()
			a.failing = a.failing || !s.agreed() && s.terminal()
			continue
		}
		a.staying++
		switch {
		case s.terminal():
			if a.terminal == nil || s.before(a.terminal) {
				a.terminal = s
			}
		case a.goal.spec.updated(s.pod):
			a.fresh = a.keep(a.fresh, s)
		default:
			a.outdated = a.keep(a.outdated, s)
		}
	}
	if !a.goal.surges {
		a.keepOne()
	}
}

// keep returns which of two pods of one kind stays. The other leaves.
func (a *assessment) keep(kept, s *podState) *podState {
	if kept == nil {
		return s
	}
	a.excess = true
	if worth, other := a.value(s), a.value(kept); worth > other || worth == other && s.before(kept) {
		s, kept = kept, s
	}
	s.leave = StepDuplicate
	return kept
}

// keepOne makes one pod leave where an old one and a new one must not be
// together.
func (a *assessment) keepOne() {
	if a.fresh == nil || a.outdated == nil {
		return
	}
	a.excess = true
	if a.value(a.outdated) > a.value(a.fresh) {
		a.fresh.leave, a.fresh = StepDuplicate, nil
		return
	}
	a.outdated.leave, a.outdated = StepDuplicate, nil // the rollout would replace it
}

// count counts a node for the status. The oldest of several pods counts, even
// if it is leaving, as in kube-controller-manager.
func (a *assessment) count() {
	switch {
	case a.node.decision.shouldRun:
		a.marks |= desired
	case a.any:
		a.marks |= misscheduled
	}
	if !a.any || !a.node.decision.shouldRun {
		return
	}
	a.marks |= current
	if a.goal.spec.updated(a.oldest.pod) {
		a.marks |= updated
	}
	if _, isReady := a.oldest.readySince(); isReady {
		a.marks |= ready
	}
	if a.available(a.oldest) {
		a.marks |= available
	}
}

// createOrReplace has a missing pod created and a failed one replaced.
func (a *assessment) createOrReplace() {
	if a.terminal != nil {
		a.replaceTerminal(a.terminal)
	}
	switch {
	case a.node.creating():
		a.wait = Wait{Reason: WaitUnderWay}
	case !a.node.decision.shouldRun:
	case a.staying > 0, a.undecided:
	case a.any && !a.goal.surges:
		a.wait = Wait{Reason: WaitTerminating}
	case a.now.Before(a.node.refused.retry()):
		a.await(WaitRefused, nil, a.node.refused.retry())
	default:
		a.needs.add(needCreation)
	}
}

// replaceTerminal makes a terminated pod leave, after the back-off of the node.
// Without back-off, a kubelet that rejects its pods would get pods without end.
// One is replaced at a time, so that the wait after it holds for the others.
func (a *assessment) replaceTerminal(s *podState) {
	until := a.node.failed.replaceFrom(a.now)
	switch {
	case a.now.Before(until):
		a.await(WaitBackoff, s, until)
	case s.pod.Status.Phase == corev1.PodSucceeded:
		s.leave = StepPodSucceeded
	default:
		s.leave = StepPodFailed
	}
}

// due decides whether a pod with a reason to leave is to be deleted now.
func (a *assessment) due(s *podState) {
	switch {
	case s.due(a.now):
		a.needs.add(needDeletions)
		a.again = a.again || s.unanswered()
	case s.toDelete():
		a.await(WaitRefused, s, s.refused.retry())
	}
}

// available reports whether a pod is available. If it will be, the node is
// evaluated then.
func (a *assessment) available(s *podState) bool {
	from, isReady := a.goal.spec.availableFrom(s)
	if isReady && a.now.Before(from) {
		a.await(WaitMinReady, s, from)
		return false
	}
	return isReady
}

// value ranks the pods of a node: the one with the highest value stays, or the
// first of several. kube-controller-manager only checks whether a pod is
// scheduled, and deletes a working one if it is the younger one.
func (a *assessment) value(s *podState) int {
	value := 0
	if s.pod.Spec.NodeName != "" {
		value += 4
	}
	from, isReady := a.goal.spec.availableFrom(s)
	switch {
	case !isReady:
	case a.now.Before(from):
		value++
		a.wake(from)
	default:
		value += 2
	}
	return value
}

// await records until when a node waits. The first reason is reported; the
// earliest end is when the node is evaluated again.
func (a *assessment) await(reason WaitReason, s *podState, until time.Time) {
	if a.wait.Reason == "" {
		a.unlessWaiting(reason, s)
		a.wait.Until = until
	}
	a.wake(until)
}

// wake has the node evaluated at a time.
func (a *assessment) wake(at time.Time) { a.until = earlier(a.until, at) }

func (a *assessment) unlessWaiting(reason WaitReason, s *podState) {
	if a.wait.Reason != "" {
		return
	}
	a.wait.Reason = reason
	if s != nil {
		a.wait.Pod = s.pod.Name
	}
}
