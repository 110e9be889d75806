package daemon

import (
	corev1 "k8s.io/api/core/v1"
)

// evaluate assesses one node and updates counts and queues. It drops the record
// of a node once that holds nothing.
func (p *Planner) evaluate(n *nodeState) {
	if p.deleting == n {
		p.deleting = nil
	}
	if n.index == dropped {
		return
	}
	p.counts.remove(n.situation.marks)
	timed := !n.situation.until.IsZero()
	n.situation = situation{}
	kept := !p.forgettable(n)
	if kept {
		a := p.assess(n)
		n.situation = a.situation
		n.taken = n.taken && n.decision.shouldContinue && !p.serves(n)
		kept = !p.forgettable(n)
	}
	if kept && n.idle() && !n.decision.shouldRun {
		n.situation.until = earlier(n.situation.until, n.rememberedUntil())
	}
	p.counts.add(n.situation.marks)
	p.enqueue(n)
	p.setTimer(n, timed)
	if !kept {
		p.drop(n)
	}
}

// forgettable reports whether the record of a node holds nothing: it has no
// pods and should have none. A node that exists keeps its failures for a time.
func (p *Planner) forgettable(n *nodeState) bool {
	switch {
	case !n.idle(), n.decision.shouldRun:
		return false
	case n.stored == nil:
		return true
	}
	return !p.now.Before(n.rememberedUntil())
}

// startRevision forgets a node's failures of a former revision.
func (p *Planner) startRevision(n *nodeState) {
	if n.revision != p.revision {
		n.forgetFailures()
		n.revision = p.revision
	}
}

// assess decides about a node. It changes only the reasons for which the pods
// of the node leave, and what has ended with time.
func (p *Planner) assess(n *nodeState) (a assessment) {
	a.planner, a.node = p, n
	p.startRevision(n)
	for s := n.pods; s != nil; s = s.next {
		s.leave = ""
	}
	switch {
	case n.stored == nil:
		a.nodeGone()
	case !n.decision.shouldContinue:
		a.misscheduled()
	default:
		a.classifyPods()
		a.count()
		a.createOrReplace()
		a.rollOut()
	}
	for s := n.pods; s != nil; s = s.next {
		a.due(s)
		if s.leaving() && !s.ended() {
			a.unlessWaiting(WaitTerminating, s)
		}
	}
	if n.creation == creationUnclear && !a.retries { // also if the node is gone
		a.readUnclear()
	}
	return a
}

// readUnclear has the pod of an unclear creation read when it is time. A retry,
// which needs no further call, would say as much.
func (a *assessment) readUnclear() {
	readFrom := a.node.unclear.readFrom
	if a.reads = !a.planner.now.Before(readFrom); !a.reads {
		a.again(readFrom)
	}
}

// nodeGone leaves what was scheduled to the pod garbage collector. Nothing else
// deletes the other pods.
func (a *assessment) nodeGone() {
	for s := a.node.pods; s != nil; s = s.next {
		if !s.leaving() && s.pod.Spec.NodeName == "" {
			s.leave = StepNodeGone
		}
	}
}

func (a *assessment) misscheduled() {
	for s := a.node.pods; s != nil; s = s.next {
		if s.ended() {
			continue
		}
		a.marks |= misscheduled
		if !s.leaving() {
			s.leave = StepMisscheduled
		}
	}
}

// classifyPods sets which pods are fresh, outdated, failed or duplicates.
func (a *assessment) classifyPods() {
	for s := a.node.pods; s != nil; s = s.next {
		if s.ended() {
			continue
		}
		a.any = true
		if a.oldest == nil || before(s, a.oldest) {
			a.oldest = s
		}
		if s.leaving() {
			a.undecided = a.undecided || !s.agreed() && !s.terminal()
			a.failing = a.failing || !s.agreed() && s.terminal()
			continue
		}
		a.staying++
		switch {
		case s.pod.Status.Phase == corev1.PodSucceeded:
			a.succeeded = s
			a.replaceEnded(s, StepPodSucceeded)
		case s.pod.Status.Phase == corev1.PodFailed:
			a.fail(s)
		case a.planner.spec.updated(s.pod):
			a.fresh = a.keep(a.fresh, s)
		default:
			a.outdated = a.keep(a.outdated, s)
		}
	}
	if !a.planner.surges {
		a.keepOne()
	}
}

// fail records a failed pod. One is replaced at a time, so that the wait after
// it holds for the others.
func (a *assessment) fail(s *podState) {
	switch {
	case a.failed == nil, s.counted && !a.failed.counted:
		a.failed = s
	case s.counted == a.failed.counted && before(s, a.failed):
		a.failed = s
	}
}

// keep returns which of two pods of one kind stays. The other leaves.
func (a *assessment) keep(kept, s *podState) *podState {
	if kept == nil {
		return s
	}
	a.excess = true
	if worth, other := a.value(s), a.value(kept); worth > other || worth == other && before(s, kept) {
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
	if a.planner.spec.updated(a.oldest.pod) {
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
	if a.failed != nil {
		a.replaceEnded(a.failed, StepPodFailed)
	}
	switch {
	case a.node.creating():
		a.wait = Wait{Reason: WaitUnderWay}
	case !a.node.decision.shouldRun:
	case a.staying > 0, a.undecided:
	case a.any && !a.planner.surges:
		a.wait = Wait{Reason: WaitTerminating}
	case a.node.held(a.planner.spec.Revision):
		a.unlessWaiting(WaitCreationUnclear, nil)
	case a.planner.now.Before(a.node.refused.retry()):
		a.retries = true
		a.await(WaitCreationRefused, nil, a.node.refused.retry())
	default:
		a.retries = true
		a.create = true
	}
}

// replaceEnded makes a terminated pod leave, after the back-off of the node.
// Without back-off, a kubelet that rejects its pods would get pods without end.
func (a *assessment) replaceEnded(s *podState, why StepReason) {
	until := a.node.failed.replaceFrom(a.planner.now)
	if a.planner.now.Before(until) && !s.counted {
		a.await(WaitBackoff, s, until)
		return
	}
	s.leave = why
}

// rollOut decides how far a node is from its old pod to its new one.
func (a *assessment) rollOut() {
	if a.planner.surges {
		a.rollOutSurging()
		return
	}
	switch {
	case a.excess, a.undecided, a.fresh == nil && a.outdated == nil:
		if a.any || a.node.decision.shouldRun {
			a.markUnavailable(nil, unavailable|between)
		}
	case a.fresh != nil:
		if !a.available(a.fresh) {
			a.markUnavailable(a.fresh, unavailable|between)
			a.unlessWaiting(WaitNotAvailable, a.fresh)
		}
	case a.available(a.outdated):
		a.nominate(replaceAvailable)
	default:
		a.markUnavailable(a.outdated, unavailable)
		a.nominate(replaceUnavailable)
	}
}

func (a *assessment) rollOutSurging() {
	switch {
	case a.outdated != nil && a.available(a.outdated),
		a.outdated == nil && a.fresh != nil && a.available(a.fresh):
		a.marks |= serving
	}
	switch {
	case a.excess, a.undecided, a.outdated != nil && a.node.creating():
		a.marks |= surging
	case a.outdated == nil:
		a.expectNew()
	case a.fresh != nil:
		a.decideBetween()
	case a.failed != nil, a.succeeded != nil, a.failing: // it has the place of the next one
		a.marks |= surging
	default:
		a.surge()
	}
}

// surge decides how the one pod of a node, which is an old one, may be
// replaced. Another one that may exist counts against maxSurge, on any node.
func (a *assessment) surge() {
	doubtful := a.node.inDoubt()
	if doubtful {
		a.marks |= surging
	}
	switch {
	case a.node.decision.shouldRun && a.node.held(a.planner.spec.Revision):
		a.marks |= behind
		a.unlessWaiting(WaitCreationUnclear, nil)
	case doubtful && a.node.decision.shouldRun:
		a.nominate(awaitUnclear)
	case !a.available(a.outdated):
		a.nominate(replaceUnavailable)
	case a.node.decision.shouldRun:
		a.nominate(replaceAvailable)
	default:
		a.nominate(retire)
	}
}

// expectNew counts a node whose old pod is gone.
func (a *assessment) expectNew() {
	switch {
	case a.fresh == nil:
		if a.any || a.node.decision.shouldRun {
			a.markUnavailable(nil, between)
		}
	case !a.available(a.fresh):
		a.markUnavailable(a.fresh, between)
		a.unlessWaiting(WaitNotAvailable, a.fresh)
	}
}

// decideBetween deletes the old pod of two if the new one is available or the
// old one is not ready.
func (a *assessment) decideBetween() {
	if _, isReady := a.outdated.readySince(); !isReady || a.available(a.fresh) {
		a.outdated.leave = StepReplaced
		a.marks |= surging
		return
	}
	if a.stranded(a.fresh) { // by a later taint
		a.fresh.leave = StepMisscheduled
		a.surge()
		return
	}
	a.markUnavailable(a.fresh, surging)
	a.unlessWaiting(WaitNotAvailable, a.fresh)
}

// stranded reports whether a pod waits to be scheduled on a node where none
// should run. It may wait forever.
func (a *assessment) stranded(s *podState) bool {
	return s.pod.Spec.NodeName == "" && !a.node.decision.shouldRun
}

// markUnavailable marks a node that has no available pod, unless the caller
// ignores it or the pod is stranded there. A node that the rollout has taken is
// never ignored.
func (a *assessment) markUnavailable(s *podState, as marks) {
	if s != nil && a.stranded(s) {
		return
	}
	if a.node.taken || !a.ignores(s) {
		a.marks |= as
	}
}

// ignores reports whether the caller ignores a node. The pod may be nil.
func (a *assessment) ignores(s *podState) bool {
	classify := a.planner.config.ClassifyUnavailable
	if classify == nil {
		return false
	}
	var pod *corev1.Pod
	if s != nil {
		pod = s.pod
	}
	return classify(a.node.object(), pod) == UnavailabilityIgnored
}

// nominate makes a node a candidate of the rollout, if that goes on.
func (a *assessment) nominate(as candidacy) {
	if a.node.decision.shouldRun {
		a.marks |= behind
	}
	rollout, config := &a.planner.spec.Rollout, &a.planner.config
	switch {
	case rollout.OnDelete:
		a.unlessWaiting(WaitOnDelete, a.outdated)
	case a.planner.invalid:
		a.unlessWaiting(WaitRolloutInvalid, a.outdated)
	case rollout.Paused:
		a.unlessWaiting(WaitPaused, a.outdated)
	case config.Eligible != nil && !config.Eligible(a.node.object()):
		a.unlessWaiting(WaitNotEligible, a.outdated)
	case a.planner.surges && a.planner.now.Before(a.node.refused.retry()):
		a.await(WaitCreationRefused, nil, a.node.refused.retry())
	case a.planner.now.Before(a.outdated.refused.retry()):
		a.await(WaitDeletionRefused, a.outdated, a.outdated.refused.retry())
	default:
		a.candidate = as
		a.situation.ignored = as == replaceAvailable && !a.planner.surges && a.ignores(a.outdated)
		a.unlessWaiting(WaitLimited, a.outdated)
	}
}

// due decides whether a pod with a reason to leave is to be deleted now.
func (a *assessment) due(s *podState) {
	switch {
	case s.leave == "":
	case a.planner.now.Before(s.refused.retry()):
		a.await(WaitDeletionRefused, s, s.refused.retry())
	default:
		a.deletes = true
	}
}
