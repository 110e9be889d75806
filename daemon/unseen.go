package daemon

import (
	"slices"
	"time"
)

// unseen is what we wrote and have not observed since. Whoever reads from a watch sees
// his own writes late, and now and then a watch loses something. Until a write is
// observed what the API server answered counts; after a while the pod is read.
//
// kube-controller-manager counts how many creations and deletions of a set it has yet
// to see, and does nothing for five minutes when one stays out. Here one that stays out
// holds up nothing but its own node.
type unseen struct {
	confirm time.Duration
	created int         // pods that we made and have not observed
	writes  []write     // in their order; those of which more is known by now, too
	unclear []*podState // to be read at once; likewise
}

// write is when we wrote something of a pod.
type write struct {
	pod *podState
	at  time.Time
}

// expect waits for a write to be observed. It is one of now, mostly.
func (u *unseen) expect(s *podState, at time.Time) {
	s.written = at
	i := len(u.writes)
	for i > 0 && u.writes[i-1].at.After(at) {
		i--
	}
	u.writes = slices.Insert(u.writes, i, write{pod: s, at: at})
}

// expectAnswer has a pod read of which it is not known whether it was deleted.
func (u *unseen) expectAnswer(s *podState) { u.unclear = append(u.unclear, s) }

// first returns the pod of the oldest write that was not observed, or nil.
func (u *unseen) first() *podState {
	for len(u.writes) > 0 {
		if w := u.writes[0]; w.pod.expected() && w.pod.written.Equal(w.at) {
			return w.pod
		}
		u.pop()
	}
	return nil
}

func (u *unseen) pop() {
	u.writes[0] = write{}
	u.writes = u.writes[1:]
}

// next returns when the oldest write will have stayed out for too long.
func (u *unseen) next() time.Time {
	s := u.first()
	if s == nil {
		return time.Time{}
	}
	return s.written.Add(u.confirm)
}

// expected says whether a write of the pod is still to be observed, and nothing is under
// way that tells more than a look would.
func (s *podState) expected() bool {
	return !s.looking && s.deletion != handedOut && (s.unseen || s.deletion == asked || s.deletion == doubtful)
}

func (p *Planner) planLooks(plan *Plan) {
	for _, s := range p.unseen.unclear {
		if s.deletion == doubtful && !s.looking {
			p.handOutLook(plan, s)
		}
	}
	clear(p.unseen.unclear)
	p.unseen.unclear = p.unseen.unclear[:0]
	for s := p.unseen.first(); s != nil && !p.now.Before(s.written.Add(p.unseen.confirm)); s = p.unseen.first() {
		p.unseen.pop()
		p.handOutLook(plan, s)
	}
}

func (p *Planner) handOutLook(plan *Plan, s *podState) {
	s.looking, s.settles = true, s.deletion != notDeleted
	plan.Look = append(plan.Look, Look{Pod: s.pod.Name, UID: s.pod.UID})
}

func (p *Planner) looked(step *Look, result *Result) {
	s := p.pods[step.Pod]
	if s == nil || s.pod.UID != step.UID {
		return
	}
	s.looking = false
	switch {
	case result.Gone:
		p.vanish(s)
	case result.Released:
		p.remove(s) // it may be adopted again
	case result.Pod != nil:
		p.confirm(s, result)
	case s.expected():
		p.unseen.expect(s, p.now)
	}
}

// confirm takes what was read, unless the watch has told something since. A pod that
// nobody is deleting although we asked for it is to be deleted again.
func (p *Planner) confirm(s *podState, result *Result) {
	if s.answered || !olderVersion(result.Pod, s.pod) {
		p.update(s, result.Pod)
		s.answered = true
	}
	p.met(s)
	p.settleDeletion(s)
	switch {
	case !s.settles:
	case s.deletion == asked:
		p.setDeletion(s, notDeleted)
	case s.deletion == doubtful:
		p.resolve(s)
	}
	// As long as the watch has not told of it, it may not tell of its end either.
	if s.expected() {
		p.unseen.expect(s, p.now)
	}
	if s.node != nil {
		p.look(s.node)
	}
}

// resolve ends a doubt: the pod was read twice and nobody is deleting it. After the
// first time the call may have been on its way still.
func (p *Planner) resolve(s *podState) {
	if s.doubted {
		p.setDeletion(s, notDeleted)
		return
	}
	s.doubted = true
}
