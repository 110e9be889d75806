package rollout

import (
	"strings"
	"time"

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
		s.node.replace(s, p.known.now)
	}
	if s.reading == readingUnderWay {
		p.known.enterReading(s, readingOvertaken)
	}
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
	p.known.enterReading(s, readingUnderWay)
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
