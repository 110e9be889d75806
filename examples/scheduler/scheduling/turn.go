package scheduling

import (
	"fmt"
	"iter"
	"time"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// mostDecided bounds the pods that one turn decides about without a task.
const mostDecided = 16

// turns are the jobs of a scheduler. Before each it follows what time and
// observations have changed.
type turns struct {
	*Scheduler

	requests timedqueue.Source[timedqueue.Job]
}

func (s turns) Start(now time.Time) (timedqueue.Job, bool) {
	if !s.synced {
		return timedqueue.Job{}, false
	}
	now = s.active.Advance(now)
	s.advance(now)
	return s.requests.Start(now)
}

func (s turns) Next(now time.Time) (time.Time, bool) {
	if !s.synced {
		return time.Time{}, false
	}
	if len(s.changed) > 0 {
		return now, true
	}
	var first time.Time
	for _, next := range []func(time.Time) (time.Time, bool){
		s.requests.Next, s.timers.Next, s.health.Next,
	} {
		if at, ok := next(now); ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first, !first.IsZero()
}

// A preemptor is the core that makes pods leave.
type preemptor struct{ *Scheduler }

func (s preemptor) Start(now time.Time) (Eviction, bool) {
	task, ok := s.evictions.Start(now)
	if !ok {
		return Eviction{}, false
	}
	e := Eviction{Task: task}
	if v := s.pods[task.Pod.ID()]; v != nil {
		e.Pod = v.object
	}
	return e, true
}

func (s preemptor) Next(now time.Time) (time.Time, bool) { return s.evictions.Next(now) }

func (s preemptor) Finish(now time.Time, e Eviction, result eviction.Result) {
	s.evictions.Finish(s.active.Advance(now), e.Task, result)
	v := s.pods[e.Task.Pod.ID()]
	if v == nil || v.preemptor == nil {
		return
	}
	switch result.Outcome {
	case eviction.OutcomeEvicted, eviction.OutcomeGone:
		v.refused = false
	case eviction.OutcomeNotDue:
	default: // it is tried again, but another room may cost less now
		v.refused = true
		s.touch(v.preemptor.nominated)
	}
}

// A placer is the core of the pods whose turn it is.
type placer struct{ *Scheduler }

// Start hands out the next pod whose turn it is, with what was decided.
func (s placer) Start(now time.Time) (Task, bool) {
	for range mostDecided {
		item, ok := s.active.Start(now)
		if !ok {
			return Task{}, false
		}
		s.active.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
		if task, ok := s.startOne(now, item.Value); ok {
			return task, true
		}
	}
	return Task{}, false
}

func (s placer) Next(now time.Time) (time.Time, bool) { return s.active.Next(now) }

func (s *Scheduler) startOne(now time.Time, p *pod) (Task, bool) {
	task := Task{Pod: p.object, Since: p.since, pod: p}
	if p.phase == assumed {
		task.Action = ActionRead
		s.enter(p, busy)
		return task, true
	}
	if !p.wanted() {
		s.enter(p, waiting)
		return Task{}, false
	}
	p.attempts++
	p.tried, p.missed = now, false
	task.Attempts = p.attempts
	n, room, decision := s.decide(now, p)
	task.Decision = decision
	if n != nil {
		task.Action = ActionBind
		s.release(now, p)
		s.put(p, n)
		s.enter(p, busy)
		return task, true
	}
	if room != nil {
		s.nominate(now, p, room.node, room.victims)
	} else {
		s.release(now, p)
	}
	if p.reported == decision.Message() {
		s.askToLeave(now, p)
		s.enter(p, waiting)
		return Task{}, false
	}
	task.Action = ActionReport
	s.enter(p, busy)
	return task, true
}

// askToLeave has the victims of a pod evicted.
func (s *Scheduler) askToLeave(now time.Time, p *pod) {
	for _, v := range p.sortedVictims() {
		if d, ok := s.evictions.Decision(v.id); ok && d.Reason != eviction.ReasonRequested {
			s.evictions.EvictPod(now, v.id, fmt.Sprintf("makes room for %s/%s", p.object.Namespace, p.object.Name), now)
		}
	}
}

// Finish takes the result of a task. What was observed meanwhile counts more.
func (s placer) Finish(now time.Time, task Task, result Result) {
	now = s.active.Advance(now)
	p := task.pod
	if p == nil || s.pods[p.id] != p || p.phase != busy {
		return
	}
	outcome := result.Outcome
	if result.Err != nil && outcome == OutcomeDone {
		outcome = OutcomeUnknown
	}
	switch task.Action {
	case ActionBind:
		s.finishBinding(now, p, outcome)
	case ActionRead:
		s.finishRead(now, p, outcome, result)
	case ActionReport:
		s.finishReport(now, p, task, outcome)
	}
}

func (s *Scheduler) finishBinding(now time.Time, p *pod, outcome Outcome) {
	switch outcome {
	case OutcomeDone:
		s.assume(p, now.Add(s.config.AssumeTimeout))
	case OutcomeRefused, OutcomeGone:
		s.unassume(p)
	default: // it may be bound
		s.assume(p, s.backoffEnd(p))
	}
}

func (s *Scheduler) finishRead(now time.Time, p *pod, outcome Outcome, result Result) {
	switch {
	case outcome == OutcomeDone && result.Pod != nil && eviction.KeyOf(result.Pod).ID() == p.id &&
		result.Pod.Spec.NodeName != "":
		s.ObservePod(now, result.Pod) // as if the watch had shown it
	case outcome == OutcomeDone && result.Pod != nil, outcome == OutcomeGone:
		s.unassume(p)
	default:
		p.attempts++
		s.assume(p, now.Add(s.config.Backoff.Delay(p.attempts-1)))
	}
}

// assume has a pod read at a time, unless the watch shows it before.
func (s *Scheduler) assume(p *pod, until time.Time) {
	s.enter(p, assumed)
	s.timers.Add(p.id, p, until)
}

// unassume takes a pod from the node that it is not bound to.
func (s *Scheduler) unassume(p *pod) {
	s.lift(p)
	p.read(p.object) // it may have changed meanwhile
	s.enter(p, waiting)
	s.timers.Add(p.id, p, s.backoffEnd(p))
}

func (s *Scheduler) finishReport(now time.Time, p *pod, task Task, outcome Outcome) {
	s.enter(p, waiting)
	if outcome != OutcomeDone || !p.wanted() {
		s.release(now, p) // its status does not say where it is nominated
		p.reported = ""
		s.timers.Add(p.id, p, s.backoffEnd(p))
		return
	}
	p.reported = task.Decision.Message()
	s.askToLeave(now, p)
	if p.missed {
		s.wake(p)
	}
}

// A Waiting is a pod that has no node, and why.
type Waiting struct {
	Namespace, Name string
	Attempts        int
	// Message is what its status says, empty before the first attempt.
	Message string
}

// Waits goes through the pods that have no node, in no order.
func (s *Scheduler) Waits() iter.Seq[Waiting] {
	return func(yield func(Waiting) bool) {
		for _, p := range s.pods {
			if p.on == nil && !yield(Waiting{p.object.Namespace, p.object.Name, p.attempts, p.reported}) {
				return
			}
		}
	}
}

// Pending counts the pods that have no node by the names of kube-scheduler's
// queues: active, backoff, unschedulable and gated.
func (s *Scheduler) Pending() map[string]int {
	counts := map[string]int{"active": s.active.Len(), "backoff": 0, "unschedulable": 0, "gated": 0}
	for _, p := range s.wanting {
		switch _, backsOff := s.timers.Find(p.id); {
		case p.on != nil || p.object.DeletionTimestamp != nil:
		case len(p.object.Spec.SchedulingGates) > 0:
			counts["gated"]++
		case backsOff:
			counts["backoff"]++
		case p.phase == busy:
			counts["active"]++
		default:
			counts["unschedulable"]++
		}
	}
	return counts
}

// Evictions returns the tracker of the victims, to be read only.
func (s *Scheduler) Evictions() *eviction.Tracker { return s.evictions }
