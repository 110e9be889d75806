package rollout

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/timedqueue"
)

var _ timedqueue.Core[Task, Result] = (*Planner)(nil)

// Start hands out a task that may begin now. The task counts as under way until
// [Planner.Finish] gets its result. The cost is that of the changes since the
// last call.
//
// The other deletions of the node of the last one come first, then refreshes.
// Deletions outside of a rollout follow, then missing pods, then the rollout:
// nodes whose old pod is not available before others.
//
// One call evaluates a thousand nodes at most. If more have changed, for
// example at the start and after SetSpec, it hands out only refreshes, because
// the limits need all counts. [Planner.Next] then returns now. A
// [timedqueue.Dispatcher] releases its lock between such calls.
func (p *Planner) Start(now time.Time) (Task, bool) {
	p.known.advance(now)
	if task, ok := p.nextDeletion(); ok {
		return task, true
	}
	complete := p.evaluateChanges()
	if s := p.timers.unseen(p.known.now); s != nil {
		return p.handOutRefresh(s), true
	}
	if !complete {
		return Task{}, false
	}
	for need, ok := p.choose(); ok; need, ok = p.choose() {
		if task, ok := p.begin(need); ok {
			return task, true
		}
	}
	if p.candidates.first(needCreation) == nil {
		p.calls.creations.resetWindow()
	}
	return Task{}, false
}

// Next returns when Start can next hand out a task or has nodes to evaluate. It
// returns false when only an observation or a result makes a difference.
func (p *Planner) Next(now time.Time) (time.Time, bool) {
	p.known.advance(now)
	if p.candidates.deleting != nil || !p.upToDate(p.known.now) {
		return now, true
	}
	if _, ok := p.choose(); ok {
		return now, true
	}
	next := p.calls.next(p.known.now)
	if at, ok := p.timers.next(p.known.now); ok {
		next = earlier(next, at)
	}
	return next, !next.IsZero()
}

// needOrder is the order in which needs are met.
var needOrder = [...]need{
	needDeletions, needCreation, needUpdate, needUpdateAvailable, needRetirement,
}

// choose returns the need of the next task.
func (p *Planner) choose() (need, bool) {
	if p.goal.refusal != nil {
		return 0, false
	}
	for _, d := range needOrder {
		if n := p.candidates.first(d); n != nil && p.may(n, d) {
			return d, true
		}
	}
	return 0, false
}

// may reports whether the first call that a node needs may be made.
func (p *Planner) may(n *nodeState, d need) bool {
	now := p.known.now
	switch {
	case d == needDeletions:
		return p.calls.mayDelete(now, n.resends(now))
	case d.ofRollout() && !p.candidates.lets(n, d):
		return false
	case p.creates(n, d):
		return p.calls.mayCreate(now)
	}
	return p.calls.mayDelete(now, n.situation.again)
}

// creates reports whether the first call that a node needs is a creation.
func (p *Planner) creates(n *nodeState, d need) bool {
	return d == needCreation || d.ofRollout() && p.goal.createsFirst(n)
}

// begin hands out a task for a need.
func (p *Planner) begin(d need) (Task, bool) {
	switch {
	case d == needDeletions:
		p.candidates.deleting = p.candidates.pick(d, &p.calls.deletions)
		return p.nextDeletion()
	case d == needCreation:
		return p.handOutCreation(p.candidates.pick(d, &p.calls.creations), StepMissing), true
	case p.creates(p.candidates.first(d), d):
		return p.handOutCreation(p.candidates.pick(d, &p.calls.creations), StepSurging), true
	}
	return p.handOutReplacement(p.candidates.pick(d, &p.calls.deletions), d.reason())
}

// nextDeletion hands out one pod of the node whose pods are being deleted. All
// that are due are handed out before the node is evaluated again, unless it
// changes.
func (p *Planner) nextDeletion() (Task, bool) {
	n := p.candidates.deleting
	if n == nil {
		return Task{}, false
	}
	if n.staleAt == 0 && p.goal.refusal == nil && p.scan == (scan{}) {
		for s := n.pods; s != nil; s = s.next {
			if s.due(p.known.now) && p.calls.mayDelete(p.known.now, s.unanswered()) {
				return p.handOutDeletion(s, s.leave), true
			}
		}
	}
	p.evaluate(n)
	return Task{}, false
}

// handOutReplacement hands out the deletion of a candidate's old pod.
func (p *Planner) handOutReplacement(n *nodeState, why StepReason) (Task, bool) {
	for s := n.pods; s != nil; s = s.next {
		first := !s.leaving() && !s.terminal() && s.leave == ""
		if !first && !(s.unanswered() && s.leave.ofRollout()) {
			continue
		}
		task := p.handOutDeletion(s, why)
		n.taken = n.taken || why == StepOutdated
		p.evaluate(n)
		return task, true
	}
	p.evaluate(n)
	return Task{}, false
}

func (p *Planner) handOutDeletion(s *podState, why StepReason) Task {
	to := deletionUnderWay
	if s.deletion == deletionUnanswered {
		to = deletionAgain
	}
	if why.ofTerminal() {
		s.node.replace(s.deletion, p.known.now)
	}
	p.known.enterReading(s, false)
	s.leave, s.epoch = why, p.calls.deletions.epoch
	p.known.enter(s, s.seen, to)
	return Task{Owner: p.config.Owner, Spec: p.goal.spec, Delete: &Deletion{
		Pod: s.pod.Name, UID: s.pod.UID, Node: s.node.name, Reason: why,
	}}
}

func (p *Planner) handOutCreation(n *nodeState, why StepReason) Task {
	p.skipTakenNames(n)
	sent := n.beginCreation(why, p.goal.spec, p.calls.creations.epoch)
	step := sent.Creation
	p.calls.creations.underWay++
	p.evaluate(n)
	return Task{Owner: p.config.Owner, Spec: sent.spec, Create: &step}
}

func (p *Planner) handOutRefresh(s *podState) Task {
	p.known.enterReading(s, true)
	return Task{
		Owner: p.config.Owner, Spec: p.goal.spec, Refresh: &Refresh{Pod: s.pod.Name, UID: s.pod.UID},
	}
}

// skipTakenNames counts the attempts whose names known pods of the node have, for
// example one that terminates. A new planner counts from zero, and each name that
// is taken would cost a call. Without Config.Owner no name is known.
func (p *Planner) skipTakenNames(n *nodeState) {
	if n.sent != nil || p.config.Owner == "" || n.pods == nil {
		return // the name is known, or no pod can have it
	}
	taken := func() bool {
		next := Creation{Node: n.name, Revision: p.goal.spec.Revision, Attempt: n.attempt}
		ending := "-" + suffix(p.config.Owner, &next)
		for s := n.pods; s != nil; s = s.next {
			if strings.HasSuffix(s.pod.Name, ending) {
				return true
			}
		}
		return false
	}
	for taken() {
		n.attempt++
	}
}

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
	outcome, epoch, gone := result.creationOutcome(), n.sent.epoch, n.sent.gone
	n.endCreation(outcome, p.known.now)
	if outcome == OutcomeNameTaken {
		n.attempt++
	}
	switch {
	case outcome == OutcomeDone:
		n.created(result.Pod, p.known.now)
		p.calls.creations.succeeded(epoch)
		p.known.write(result.Pod, gone)
	case outcome == OutcomeNameTaken && result.Pod != nil: // mostly one that is being deleted
		p.known.write(result.Pod, gone)
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
