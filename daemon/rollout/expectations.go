package rollout

import (
	"slices"
	"time"
)

// expectations are our writes that the watch has not shown. A watch delivers
// our own writes late and occasionally drops an event. Until a write is shown,
// the answer of the API server counts. After the timeout the pod is read. So it
// is after a deletion without an answer that is not sent again.
//
// kube-controller-manager counts the expectations of a set, and stops the set
// for five minutes when one is lost. Here a lost event delays only its own
// node.
type expectations struct {
	timeout time.Duration
	created int     // pods in podCreated, or with that as their former phase
	writes  []write // in their order; some may be shown already
}

// write is when we wrote something of a pod.
type write struct {
	pod *podState
	at  time.Time
}

// expect waits for a write to be shown. Mostly it is the latest one.
func (e *expectations) expect(s *podState, at time.Time) {
	s.written = at
	i := len(e.writes)
	for i > 0 && e.writes[i-1].at.After(at) {
		i--
	}
	e.writes = slices.Insert(e.writes, i, write{pod: s, at: at})
}

// first returns the pod of the oldest write that was not shown, or nil.
func (e *expectations) first() *podState {
	for len(e.writes) > 0 {
		if w := e.writes[0]; w.pod.expected() && w.pod.written.Equal(w.at) {
			return w.pod
		}
		e.pop()
	}
	return nil
}

func (e *expectations) pop() {
	e.writes[0] = write{}
	e.writes = e.writes[1:]
}

// next returns when the expectation of the oldest write times out.
func (e *expectations) next() time.Time {
	s := e.first()
	if s == nil {
		return time.Time{}
	}
	return s.written.Add(e.timeout)
}

// expected reports whether the watch has not shown a write of the pod yet. It
// is false while a call is under way whose answer would say more than a read.
func (s *podState) expected() bool {
	switch s.phase {
	case podGone, podObserved, podDeleting, podDeletingAgain:
		return false
	case podCreated, podRead, podDeletionAccepted, podDeletionUnanswered:
	}
	return s.reading == podGone
}

// toRefresh returns a pod that is to be read now, or nil.
func (p *Planner) toRefresh() *podState {
	if s := p.unseen.first(); s != nil && !p.now.Before(s.written.Add(p.unseen.timeout)) {
		return s
	}
	return nil
}

func (p *Planner) finishRefresh(step *Refresh, result *Result) {
	s := p.pods[step.Pod]
	if s == nil || s.pod.UID != step.UID {
		return
	}
	began := s.reading
	s.reading = podGone
	switch outcome := result.outcome(); {
	case outcome == OutcomeGone:
		p.vanish(s)
	case outcome == OutcomeReleased:
		p.remove(s) // it may be adopted again
	case outcome == OutcomeDone && result.Pod != nil:
		p.recordRead(s, result, began)
	case s.expected():
		p.unseen.expect(s, p.now)
	}
}

// recordRead records what was read, unless the watch has shown something newer.
// A pod that is not being deleted although we asked for it is deleted again.
func (p *Planner) recordRead(s *podState, result *Result, began podPhase) {
	isNewer := !olderVersion(result.Pod, s.pod)
	switch {
	case !s.answeredAt.IsZero():
		isNewer = true // the read was sent after that answer, and the watch has shown nothing since
	case s.undoneBy(result.Pod):
		isNewer = olderVersion(s.pod, result.Pod) // else the read may be from before the deletion
	}
	if isNewer && !s.shows(result.Pod) {
		p.update(s, result.Pod)
		s.answeredAt = p.now
	}
	former := s.former
	if former == podCreated {
		former = podRead
	}
	p.enter(s, s.phaseRead(began, former), former)
	// A watch that has not shown the pod may not show its deletion either.
	if s.expected() {
		p.unseen.expect(s, p.now)
	}
	if s.node != nil {
		p.markStale(s.node)
	}
}

// phaseRead returns the phase after a read that began in a phase. What was read
// may be older than a deletion that was handed out since.
func (s *podState) phaseRead(began, former podPhase) podPhase {
	switch {
	case !s.phase.isDeletion():
		return former
	case s.phase.isUnderWay():
		return s.phase
	case s.pod.DeletionTimestamp != nil:
		return former
	case s.phase != began:
		return s.phase
	}
	return former
}
