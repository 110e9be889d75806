package rollout

import corev1 "k8s.io/api/core/v1"

// rolloutOrder is the order in which a rollout takes candidates.
var rolloutOrder = [...]queueName{outdatedUnavailable, outdatedAvailable, toRetire}

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
		a.replaceAgain()
	case a.fresh != nil:
		if !a.available(a.fresh) {
			a.markUnavailable(a.fresh, unavailable|between)
			a.unlessWaiting(WaitNotAvailable, a.fresh)
		}
	case a.available(a.outdated):
		a.markBehind()
		a.nominate(replaceAvailable)
	default:
		a.markUnavailable(a.outdated, unavailable)
		a.markBehind()
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
			a.nominate(replaceAvailable)
		} else {
			a.nominate(replaceUnavailable)
		}
		return
	}
}

// surge decides how the one pod of a node, which is an old one, may be
// replaced. Another one that may exist counts against maxSurge, on any node.
func (a *assessment) surge() {
	if a.node.creation == creationUnanswered {
		a.marks |= surging
		a.again = a.node.decision.shouldRun
	}
	a.markBehind()
	switch {
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

// markBehind marks a node whose old pod is still to be replaced.
func (a *assessment) markBehind() {
	if a.node.decision.shouldRun {
		a.marks |= behind
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

// nominate makes a node a candidate of the rollout, if that goes on. A surge
// that has begun is finished.
func (a *assessment) nominate(as candidacy) {
	stopped := a.stopped()
	switch {
	case stopped != "" && !(a.again && a.planner.surges):
		a.unlessWaiting(stopped, a.outdated)
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

// stopped returns why the rollout begins on no further node like this one, and
// nothing if it goes on.
func (a *assessment) stopped() WaitReason {
	strategy, config := &a.planner.spec.Strategy, &a.planner.config
	switch {
	case strategy.OnDelete:
		return WaitOnDelete
	case a.planner.invalid:
		return WaitRolloutInvalid
	case strategy.Paused:
		return WaitPaused
	case config.Eligible != nil && !config.Eligible(a.node.object()):
		return WaitNotEligible
	}
	return ""
}

// limits caches the limits of the rollout for a number of desired nodes,
// because to parse percentages costs more than a decision.
type limits struct {
	known bool
	nodes int
	of    Limits
	err   error
}

// limitsNow returns the limits for the present counts, and false if the rollout
// has none that are valid.
func (p *Planner) limitsNow() (Limits, bool) {
	if nodes := p.counts.of(desired); !p.limits.known || p.limits.nodes != nodes {
		of, err := p.spec.Strategy.Limits(nodes)
		p.limits = limits{known: true, nodes: nodes, of: of, err: err}
	}
	return p.limits.of, p.limits.err == nil
}

// mayTake reports whether the limits let a candidate go on now.
func (p *Planner) mayTake(n *nodeState) bool {
	now, ok := p.limitsNow()
	if !ok || !p.partitionLets(n, now) {
		return false
	}
	switch n.situation.candidate {
	case replaceUnavailable:
		return p.mayTakeUnavailable(n, now)
	case replaceAvailable:
		return p.mayTakeAvailable(n, now)
	case retire:
		return p.counts.of(serving) > p.counts.of(desired)
	case noCandidate:
	}
	return false
}

// mayTakeUnavailable is for a node whose old pod is not available.
func (p *Planner) mayTakeUnavailable(n *nodeState, now Limits) bool {
	switch {
	case !p.spec.Strategy.Strict:
		return true
	case p.surges:
		return p.surged(n) < now.Surge
	}
	return p.others(n, between) < now.Unavailable
}

// mayTakeAvailable is for a node whose old pod is available.
func (p *Planner) mayTakeAvailable(n *nodeState, now Limits) bool {
	if p.surges {
		return p.surged(n) < now.Surge
	}
	return p.others(n, unavailable) < now.Unavailable
}

// surged returns how many nodes besides one have a second pod.
func (p *Planner) surged(n *nodeState) int {
	surged := p.others(n, surging)
	if p.spec.Strategy.Strict {
		surged += p.others(n, between)
	}
	return surged
}

// others returns how many nodes besides one have a mark. The node has it if a
// call for it is sent again.
func (p *Planner) others(n *nodeState, m marks) int {
	if n.situation.marks&m != 0 {
		return p.counts.of(m) - 1
	}
	return p.counts.of(m)
}

// partitionLets reports whether the partition lets a node go on. It counts the
// nodes that should have a pod. The others keep theirs while there is a
// partition at all.
func (p *Planner) partitionLets(n *nodeState, now Limits) bool {
	if !n.decision.shouldRun {
		return now.Partition == 0
	}
	return p.others(n, behind) >= now.Partition
}

// createsFirst reports whether a node gets its new pod before the old one goes.
func (p *Planner) createsFirst(n *nodeState) bool { return p.surges && n.decision.shouldRun }
