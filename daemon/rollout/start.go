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
// Refreshes come first. Deletions outside of a rollout follow, then missing
// pods, then the rollout: nodes whose old pod is not available before others.
//
// One call evaluates a thousand nodes at most. If more have changed, for
// example at the start and after SetSpec, it hands out only refreshes, because
// the limits need all counts. [Planner.Next] then returns now. A
// [timedqueue.Dispatcher] releases its lock between such calls.
func (p *Planner) Start(now time.Time) (Task, bool) {
	p.advance(now)
	if task, ok := p.nextDeletion(); ok {
		return task, true
	}
	complete := p.evaluateChanges()
	if s := p.toRefresh(); s != nil {
		return p.handOutRefresh(s), true
	}
	if !complete {
		return Task{}, false
	}
	for from, ok := p.choose(); ok; from, ok = p.choose() {
		if task, ok := p.begin(from); ok {
			return task, true
		}
	}
	if p.queues[toCreate].first() == nil {
		p.creations.resetWindow()
	}
	return Task{}, false
}

// Next returns when Start can next hand out a task or has nodes to evaluate. It
// returns false when only an observation or a result makes a difference.
func (p *Planner) Next(now time.Time) (time.Time, bool) {
	p.advance(now)
	if p.deleting != nil || !p.upToDate() || p.toRefresh() != nil {
		return now, true
	}
	if _, ok := p.choose(); ok {
		return now, true
	}
	next := p.nextTimer()
	next = earlier(next, p.unseen.next())
	for _, calls := range []*calls{&p.creations, &p.deletions} {
		if hold := calls.refused.hold(); p.now.Before(hold) {
			next = earlier(next, hold)
		}
	}
	return next, !next.IsZero()
}

// choose returns the queue of the next task.
func (p *Planner) choose() (queueName, bool) {
	first := p.queues[toDelete].first()
	switch {
	case p.refusal != nil:
		return 0, false
	case first != nil && p.mayDelete(first.situation.redeletes):
		return toDelete, true
	case p.queues[toCreate].first() != nil && p.mayCreate():
		return toCreate, true
	}
	return p.chooseCandidate()
}

// chooseCandidate returns the queue of the rollout from which the limits allow
// one more node. Each one changes the counts that the limits bound.
func (p *Planner) chooseCandidate() (queueName, bool) {
	for _, from := range rolloutOrder {
		if n := p.queues[from].first(); n != nil && p.mayTake(n) && p.hasRoom(n) {
			return from, true
		}
	}
	return 0, false
}

// hasRoom reports whether a candidate's first call may be made.
func (p *Planner) hasRoom(n *nodeState) bool {
	if p.createsFirst(n) {
		return p.mayCreate()
	}
	return p.mayDelete(n.situation.again)
}

// begin hands out a task for a node of a queue.
func (p *Planner) begin(from queueName) (Task, bool) {
	switch from {
	case toDelete:
		p.deleting = p.pick(from, &p.deletions, nil)
		return p.nextDeletion()
	case toCreate:
		n := p.pick(from, &p.creations, nil)
		return p.handOutCreation(n, StepMissing), true
	case outdatedUnavailable, outdatedAvailable, toRetire:
	}
	if p.createsFirst(p.queues[from].first()) {
		return p.handOutCreation(p.pick(from, &p.creations, p.config.Less), StepSurging), true
	}
	return p.handOutReplacement(p.pick(from, &p.deletions, p.config.Less))
}

// nextDeletion hands out one pod of the node whose pods are being deleted. All
// that are due are handed out before the node is evaluated again, unless it
// changes.
func (p *Planner) nextDeletion() (Task, bool) {
	n := p.deleting
	if n == nil {
		return Task{}, false
	}
	if !n.stale && p.refusal == nil && p.scan == (scan{}) {
		for s := n.pods; s != nil; s = s.next {
			due := s.toDelete() && !s.leave.ofRollout() && !p.now.Before(s.refused.retry())
			if due && p.mayDelete(s.unanswered()) {
				return p.handOutDeletion(s, s.leave), true
			}
		}
	}
	p.evaluate(n)
	return Task{}, false
}

// handOutReplacement hands out the deletion of a candidate's old pod.
func (p *Planner) handOutReplacement(n *nodeState) (Task, bool) {
	why := n.situation.candidate.reason()
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
	phase := podDeleting
	switch {
	case s.phase == podDeletionUnanswered:
		phase = podDeletingAgain
		if s.reading != podGone {
			s.reading = podDeleting // what is being read is of before
		}
	case why.ofTerminal():
		s.node.replace(s, p.now)
	}
	s.leave = why
	p.enter(s, phase, s.former)
	s.epoch = p.deletions.epoch
	return p.task(Task{Delete: &Deletion{
		Pod: s.pod.Name, UID: s.pod.UID, Node: s.node.name, Reason: why,
	}})
}

func (p *Planner) handOutCreation(n *nodeState, why StepReason) Task {
	p.skipTakenNames(n)
	sent := n.beginCreation(why, p.spec)
	step := sent.Creation
	n.epoch = p.creations.epoch
	p.creations.underWay++
	p.evaluate(n)
	return Task{Owner: p.config.Owner, Spec: sent.spec, Create: &step}
}

// skipTakenNames counts the attempts whose names known pods of the node have, for
// example one that terminates. A new planner counts from zero, and each name that
// is taken would cost a call. Without Config.Owner no name is known.
func (p *Planner) skipTakenNames(n *nodeState) {
	if n.creation == creationUnanswered || p.config.Owner == "" || n.pods == nil {
		return // the name is known, or no pod can have it
	}
	taken := func() bool {
		next := Creation{Node: n.name, Revision: p.spec.Revision, Attempt: n.attempt}
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

func (p *Planner) task(t Task) Task {
	t.Owner, t.Spec = p.config.Owner, p.spec
	return t
}

func (p *Planner) mayCreate() bool { return p.creations.room(p.now, p.unseen.created) }

// mayDelete reports whether one more deletion may be handed out. One that is sent
// again is among the unresolved ones already.
func (p *Planner) mayDelete(again bool) bool {
	unseen := p.unresolved - p.deletions.underWay
	if again {
		unseen--
	}
	return !p.halted && p.deletions.room(p.now, unseen)
}

func (p *Planner) handOutRefresh(s *podState) Task {
	s.reading = s.phase
	return p.task(Task{Refresh: &Refresh{Pod: s.pod.Name, UID: s.pod.UID}})
}
