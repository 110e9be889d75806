package rollout

// rollOut decides how far a node is from its old pod to its new one.
func (a *assessment) rollOut() {
	if a.goal.surges {
		a.rollOutSurging()
		return
	}
	switch {
	case a.excess, a.undecided, a.fresh == nil && a.outdated == nil:
		if a.any || a.node.decision.shouldRun {
			a.markUnavailable(nil, unavailable|between)
		}
		a.replaceAgain()
	case a.fresh != nil:
		if !a.available(a.fresh) {
			a.markUnavailable(a.fresh, unavailable|between)
			a.unlessWaiting(WaitNotAvailable, a.fresh)
		}
	case a.available(a.outdated):
		a.markBehind()
		a.nominate(needUpdateAvailable)
	default:
		a.markUnavailable(a.outdated, unavailable)
		a.markBehind()
		a.nominate(needUpdate)
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
	case a.terminal != nil, a.failing: // it has the place of the next one
		a.marks |= surging
	default:
		a.surge()
	}
}

// replaceAgain has an unanswered deletion of the rollout sent again. The node
// counts as one without an available pod meanwhile.
func (a *assessment) replaceAgain() {
	for s := a.node.pods; s != nil; s = s.next {
		if !s.unanswered() || !s.leave.ofRollout() {
			continue
		}
		a.outdated = s
		a.again = true
		if a.available(s) {
			a.nominate(needUpdateAvailable)
		} else {
			a.nominate(needUpdate)
		}
		return
	}
}

// surge decides how the one pod of a node, which is an old one, may be
// replaced. Another one that may exist counts against maxSurge, on any node.
func (a *assessment) surge() {
	if a.node.creationPhase() == creationUnanswered {
		a.marks |= surging
		a.again = a.node.decision.shouldRun
	}
	a.markBehind()
	switch {
	case !a.available(a.outdated):
		a.nominate(needUpdate)
	case a.node.decision.shouldRun:
		a.nominate(needUpdateAvailable)
	default:
		a.nominate(needRetirement)
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
	if a.fresh.stranded() { // by a later taint
		a.fresh.leave = StepMisscheduled
		a.surge()
		return
	}
	a.markUnavailable(a.fresh, surging)
	a.unlessWaiting(WaitNotAvailable, a.fresh)
}

// markUnavailable marks a node that has no available pod, unless the caller
// ignores it or the pod is stranded there. A node that the rollout has taken is
// never ignored.
func (a *assessment) markUnavailable(s *podState, as marks) {
	if s != nil && s.stranded() {
		return
	}
	if a.node.taken || !a.goal.ignores(a.node, s) {
		a.marks |= as
	}
}

// markBehind marks a node whose old pod is still to be replaced.
func (a *assessment) markBehind() {
	if a.node.decision.shouldRun {
		a.marks |= behind
	}
}

// nominate makes a node a candidate of the rollout, if that goes on. A surge
// that has begun is finished. If the set surges no longer, the old pod stays
// until it is known whether there is a new one. A caller that updates it in
// place would have two.
func (a *assessment) nominate(as need) {
	stopped := a.goal.stopped(a.node)
	switch {
	case stopped != "" && !(a.again && a.goal.surges):
		a.unlessWaiting(stopped, a.outdated)
	case !a.goal.surges && a.node.sent != nil:
		a.unlessWaiting(WaitUnderWay, nil)
	case a.goal.surges && a.now.Before(a.node.refused.retry()):
		a.await(WaitRefused, nil, a.node.refused.retry())
	case a.now.Before(a.outdated.refused.retry()):
		a.await(WaitRefused, a.outdated, a.outdated.refused.retry())
	default:
		a.needs.add(as)
		a.ignored = as == needUpdateAvailable && !a.goal.surges && a.goal.ignores(a.node, a.outdated)
		a.unlessWaiting(WaitLimited, a.outdated)
	}
}
