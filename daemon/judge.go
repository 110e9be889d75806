package daemon

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// situation is what there is to say of one node, whatever the others are like.
type situation struct {
	marks     marks
	create    StepReason // a pod is to be made; empty: none
	deletes   bool       // pods of it are to be deleted: those that have a cause to leave
	excused   bool       // its available pod goes after those of nodes that are not excused
	candidate candidacy
	until     time.Time // when it changes without anything being observed; zero: never
}

// candidacy is what a rollout may do with a node; zero: nothing.
type candidacy int8

const (
	// replaceUnavailable: its old pod is not available anyway.
	replaceUnavailable candidacy = 1 + iota
	// replaceAvailable: its old pod is available.
	replaceAvailable
	// retire: its old pod is available, but none should run there. It goes once there
	// are enough others. Only where new pods come before old ones go.
	retire
	// insist: its new pod may have been made, and has its place as long as that is not
	// known.
	insist
)

// judge looks at one node, and brings counts and queues up to date.
func (p *Planner) judge(n *nodeState) {
	p.counts.remove(n.situation.marks)
	n.situation = situation{}
	if !n.empty() {
		a := p.assess(n)
		n.situation = a.situation
		n.taken = n.taken && a.lacks
	}
	p.counts.add(n.situation.marks)
	p.enqueue(n)
	p.setTimer(n)
	if n.empty() {
		delete(p.nodes, n.name)
	}
}

// assess only looks, but for noting with each pod of the node why it should leave, and
// that a doubt has ended.
func (p *Planner) assess(n *nodeState) (a assessment) {
	a.planner, a.node = p, n
	if !p.now.Before(n.doubt.until) {
		n.doubt = doubt{}
	}
	a.until = n.doubt.until // also of a node that is gone: if it comes back, so does its creation
	for s := n.pods; s != nil; s = s.next {
		s.leave = ""
	}
	switch {
	case n.object == nil:
		a.nodeGone()
	case !n.verdict.Keep:
		a.misplaced()
	default:
		a.sort()
		a.count()
		a.manage()
		a.rollOut()
	}
	for s := n.pods; s != nil; s = s.next {
		a.due(s)
		if s.leaving() && !s.ended() {
			a.unlessWaiting(Terminating, s)
		}
	}
	return a
}

// assessment is one look at one node.
type assessment struct {
	situation
	wait Wait // why nothing is done, if it is not as it should be

	planner *Planner
	node    *nodeState

	any       bool      // there are pods, if only such that are leaving
	oldest    *podState // the one that the status is about
	staying   int       // pods that nobody is deleting, failed ones too
	undecided bool      // a pod may stay after all: its deletion was not answered
	failing   bool      // a failed one may
	lacks     bool      // no available pod stays
	fresh     *podState // of the current revision, the one to keep
	outdated  *podState // of a former revision, the one to keep
	excess    bool      // there are more of either
	failed    *podState
	succeeded *podState
}

// nodeGone: what was scheduled is the pod garbage collector's, what was not nobody's.
func (a *assessment) nodeGone() {
	for s := a.node.pods; s != nil; s = s.next {
		if !s.leaving() && s.pod.Spec.NodeName == "" {
			s.leave = NodeGone
		}
	}
}

func (a *assessment) misplaced() {
	for s := a.node.pods; s != nil; s = s.next {
		if s.ended() {
			continue
		}
		a.marks |= misscheduled
		if !s.leaving() {
			s.leave = Misplaced
		}
	}
}

// sort finds out which pods are which.
func (a *assessment) sort() {
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
			a.replaceEnded(s, PodSucceeded)
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

// fail notes a failed pod. One is replaced at a time, so that the wait after it holds
// for the others.
func (a *assessment) fail(s *podState) {
	if a.failed == nil || before(s, a.failed) {
		a.failed = s
	}
}

// keep returns which of two pods of one kind stays. The other leaves.
func (a *assessment) keep(kept, s *podState) *podState {
	if kept == nil {
		return s
	}
	a.excess = true
	if worth, other := a.worth(s), a.worth(kept); worth > other || worth == other && before(s, kept) {
		s, kept = kept, s
	}
	s.leave = Duplicate
	return kept
}

// keepOne makes one pod leave where there are an old one and a new one, and must not be.
func (a *assessment) keepOne() {
	if a.fresh == nil || a.outdated == nil {
		return
	}
	a.excess = true
	if a.worth(a.outdated) > a.worth(a.fresh) {
		a.fresh.leave, a.fresh = Duplicate, nil
		return
	}
	a.outdated.leave, a.outdated = Duplicate, nil // it would be replaced anyway
}

// count counts a node for the status. The oldest of several pods counts, even if it is
// leaving, as in kube-controller-manager.
func (a *assessment) count() {
	switch {
	case a.node.verdict.Run:
		a.marks |= desired
	case a.any:
		a.marks |= misscheduled
	}
	if !a.any || !a.node.verdict.Run {
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

// manage sees to it that there is a pod, and that failed ones go.
func (a *assessment) manage() {
	if a.failed != nil {
		a.replaceEnded(a.failed, PodFailed)
	}
	switch {
	case a.node.creating:
		a.wait = Wait{Reason: UnderWay}
	case !a.node.verdict.Run:
	case a.staying > 0, a.undecided:
	case a.any && !a.planner.surges:
		a.wait = Wait{Reason: Terminating}
	case a.planner.now.Before(a.node.refused.retry()):
		a.await(CreationRefused, nil, a.node.refused.retry())
	default:
		a.create = Missing
	}
}

// replaceEnded makes a pod leave that has come to its end, but not sooner than the last
// one of the node allows: a kubelet that rejects what it gets would be sent pods without
// end, and so would one whose pods have nothing to do.
func (a *assessment) replaceEnded(s *podState, why StepReason) {
	if until := a.node.failed.replaceFrom(a.planner.now); a.planner.now.Before(until) {
		a.await(Backoff, s, until)
		return
	}
	s.leave = why
}

// rollOut says where a node is between an old pod and a new one.
func (a *assessment) rollOut() {
	if a.planner.surges {
		a.rollOutSurging()
		return
	}
	switch {
	case a.excess, a.fresh == nil && a.outdated == nil:
		if a.any || a.node.verdict.Run {
			a.lacking(nil, unavailable|between)
		}
	case a.fresh != nil:
		if !a.available(a.fresh) {
			a.lacking(a.fresh, unavailable|between)
			a.unlessWaiting(NotAvailable, a.fresh)
		}
	case a.available(a.outdated):
		a.nominate(replaceAvailable)
	default:
		a.lacking(a.outdated, unavailable)
		a.nominate(replaceUnavailable)
	}
}

func (a *assessment) rollOutSurging() {
	switch {
	case a.outdated != nil && a.available(a.outdated), a.outdated == nil && a.fresh != nil && a.available(a.fresh):
		a.marks |= serving
	}
	switch {
	case a.excess, a.undecided, a.outdated != nil && a.node.creating:
		a.marks |= surging
	case a.outdated == nil:
		a.expectNew()
	case a.fresh != nil:
		a.relieve()
	case a.failed != nil, a.succeeded != nil, a.failing: // it holds the place of the next one
		a.marks |= surging
	default:
		a.surge()
	}
}

// surge says how the one pod of a node, which is an old one, may be replaced. A new one
// that may have been made takes a place, wherever that is.
func (a *assessment) surge() {
	doubtful := a.node.doubt.revision == a.planner.spec.Revision
	if doubtful {
		a.marks |= surging
	}
	switch {
	case doubtful && a.node.verdict.Run:
		a.nominate(insist)
	case !a.available(a.outdated):
		a.nominate(replaceUnavailable)
	case a.node.verdict.Run:
		a.nominate(replaceAvailable)
	default:
		a.nominate(retire)
	}
}

// expectNew counts a node whose old pod is gone.
func (a *assessment) expectNew() {
	switch {
	case a.fresh == nil:
		if a.any || a.node.verdict.Run {
			a.lacking(nil, between)
		}
	case !a.available(a.fresh):
		a.lacking(a.fresh, between)
		a.unlessWaiting(NotAvailable, a.fresh)
	}
}

// relieve lets the old pod of two go, if the new one is available or it is of no use.
func (a *assessment) relieve() {
	if _, isReady := a.outdated.readySince(); !isReady || a.available(a.fresh) {
		a.outdated.leave = Replaced
		a.marks |= surging
		return
	}
	if a.stranded(a.fresh) { // by a taint that came after it
		a.fresh.leave = Misplaced
		a.surge()
		return
	}
	a.lacking(a.fresh, surging)
	a.unlessWaiting(NotAvailable, a.fresh)
}

// stranded reports whether a pod waits to be scheduled on a node where none should run,
// which may be for ever.
func (a *assessment) stranded(s *podState) bool {
	return s.pod.Spec.NodeName == "" && !a.node.verdict.Run
}

// lacking marks a node that has no available pod, unless the caller excuses it, or the
// pod is stranded there. What the rollout has taken is not excused.
func (a *assessment) lacking(s *podState, as marks) {
	if s != nil && a.stranded(s) {
		return
	}
	a.lacks = true
	if a.node.taken || !a.excuses(s) {
		a.marks |= as
	}
}

// excuses reports whether the caller excuses a node. The pod may be nil.
func (a *assessment) excuses(s *podState) bool {
	classify := a.planner.config.ClassifyUnavailable
	if classify == nil {
		return false
	}
	var pod *corev1.Pod
	if s != nil {
		pod = s.pod
	}
	return classify(a.node.object, pod) == Excused
}

// nominate makes a node a candidate of the rollout, if there is one.
func (a *assessment) nominate(as candidacy) {
	if a.node.verdict.Run {
		a.marks |= behind
	}
	rollout, config := &a.planner.spec.Rollout, &a.planner.config
	switch {
	case rollout.OnDelete:
		a.unlessWaiting(OnDelete, a.outdated)
	case a.planner.invalid:
		a.unlessWaiting(RolloutInvalid, a.outdated)
	case rollout.Paused:
		a.unlessWaiting(Paused, a.outdated)
	case config.Updates != nil && !config.Updates(a.node.object):
		a.unlessWaiting(NotSelected, a.outdated)
	case a.planner.surges && a.planner.now.Before(a.node.refused.retry()):
		a.await(CreationRefused, nil, a.node.refused.retry())
	case a.planner.now.Before(a.outdated.refused.retry()):
		a.await(DeletionRefused, a.outdated, a.outdated.refused.retry())
	default:
		a.candidate = as
		a.excused = as == replaceAvailable && !a.planner.surges && a.excuses(a.outdated)
		a.unlessWaiting(Limited, a.outdated)
	}
}

// due says whether a pod that has a cause to leave is to be deleted now.
func (a *assessment) due(s *podState) {
	switch {
	case s.leave == "":
	case a.planner.now.Before(s.refused.retry()):
		a.await(DeletionRefused, s, s.refused.retry())
	default:
		a.deletes = true
	}
}

// available says whether a pod is available, and looks again when it will be.
func (a *assessment) available(s *podState) bool {
	from, isReady := a.planner.spec.availableFrom(s)
	if isReady && a.planner.now.Before(from) {
		a.await(MinReady, s, from)
		return false
	}
	return isReady
}

// await notes until when a node waits. The first reason is the one that is told; the
// earliest end is when to look again.
func (a *assessment) await(reason WaitReason, s *podState, until time.Time) {
	if a.wait.Reason == "" {
		a.unlessWaiting(reason, s)
		a.wait.Until = until
	}
	a.lookAgain(until)
}

func (a *assessment) lookAgain(at time.Time) { a.until = earlier(a.until, at) }

func (a *assessment) unlessWaiting(reason WaitReason, s *podState) {
	if a.wait.Reason != "" {
		return
	}
	a.wait.Reason = reason
	if s != nil {
		a.wait.Pod = s.pod.Name
	}
}

// before is the order in which kube-controller-manager counts the pods of a node:
// scheduled ones, then older ones.
func before(a, b *podState) bool {
	if scheduled := a.pod.Spec.NodeName != ""; scheduled != (b.pod.Spec.NodeName != "") {
		return scheduled
	}
	if !a.pod.CreationTimestamp.Equal(&b.pod.CreationTimestamp) {
		return a.pod.CreationTimestamp.Before(&b.pod.CreationTimestamp)
	}
	return a.pod.Name < b.pod.Name
}

// worth says how much there is to lose with a pod. Of two of the same worth the one stays
// that is before the other. To kube-controller-manager being scheduled is all the worth
// that there is; it deletes the pod that works if it is the younger one.
func (a *assessment) worth(s *podState) int {
	worth := 0
	if s.pod.Spec.NodeName != "" {
		worth += 4
	}
	from, isReady := a.planner.spec.availableFrom(s)
	switch {
	case !isReady:
	case a.planner.now.Before(from):
		worth++
		a.lookAgain(from)
	default:
		worth += 2
	}
	return worth
}

// availableFrom returns from when on a pod counts as available, if it is ready. One that
// does not say since when it is counts as if it was not, where that matters.
func (s *Spec) availableFrom(pod *podState) (time.Time, bool) {
	since, isReady := pod.readySince()
	switch {
	case !isReady:
		return time.Time{}, false
	case s.MinReady == 0:
		return time.Time{}, true
	case since.IsZero():
		return time.Time{}, false
	}
	return since.Add(s.MinReady), true
}

// updated says whether a pod is of the current revision.
func (s *Spec) updated(pod *corev1.Pod) bool {
	if s.Revision != "" && pod.Labels[revisionLabel] == s.Revision {
		return true
	}
	return s.TemplateGeneration != "" && pod.Labels[generationLabel] == s.TemplateGeneration
}
