package scheduling

import (
	"slices"
	"time"

	"github.com/kubelife/lifecycle/nodehealth/observer"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// mostVisited is how many pairs of a changed node and a pod one turn looks at
// before it leaves other nodes to the next turn. The pods of one node are not
// divided.
const mostVisited = 2000

// advance does what follows from time and from changes of nodes.
func (s *Scheduler) advance(now time.Time) {
	for task, ok := s.health.Start(now); ok; task, ok = s.health.Start(now) {
		s.health.Finish(now, task, observer.Result{})
		s.follow(task.Change)
	}
	s.wakeHelped()
	for item, ok := s.timers.Start(now); ok; item, ok = s.timers.Start(now) {
		s.timers.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
		p := item.Value
		switch p.phase {
		case assumed:
			s.active.Add(p.id, p, s.began) // to be read
		case waiting:
			s.enter(p, pending)
		case pending, busy, placed:
		}
	}
}

// wakeHelped wakes the pods that changed nodes help.
func (s *Scheduler) wakeHelped() {
	for visits := mostVisited; visits > 0 && len(s.changed) > 0; {
		n := s.changed[0]
		s.changed = s.changed[1:]
		n.changed = false
		visits -= 1 + len(s.wanting)
		for _, p := range s.wanting {
			if s.helps(n, p) {
				s.wake(p)
			}
		}
	}
}

// follow follows up a change of silence, of zones, or of the cluster: all nodes
// concerned have changed.
func (s *Scheduler) follow(change observer.Change) {
	for _, name := range change.Nodes {
		if n := s.nodes[name]; n != nil {
			s.touch(n)
		}
	}
	suspended := s.seen.Phase() == zone.PhaseSuspended
	if suspended == s.suspended && len(change.Zones) == 0 {
		return
	}
	for _, n := range s.nodes {
		zoneOf, _ := s.seen.ZoneOf(n.name)
		if suspended != s.suspended || slices.Contains(change.Zones, zoneOf.Zone) {
			s.touch(n)
		}
	}
	s.suspended = suspended
}

// helps reports whether a node that has changed gives a pod a reason to be
// decided about again.
func (s *Scheduler) helps(n *node, p *pod) bool {
	switch {
	case !p.wanted() || p.Unsupported != "" || p.on != nil:
		return false
	case p.nominated == n && !s.expectsRoom(p):
		return true // what it waited for does not come
	case n.object == nil || s.avoided(n, p) != "":
		return false
	}
	return n.shortages(p) == nil || s.mayPreempt(p) && s.roomOn(n, p) != nil
}

// wake makes a pod pending when its backoff is over.
func (s *Scheduler) wake(p *pod) {
	switch p.phase {
	case busy:
		p.missed = true
	case waiting:
		s.timers.Add(p.id, p, s.backoffEnd(p))
	case pending, assumed, placed:
	}
}

// backoffEnd returns when a pod may be decided about again.
func (s *Scheduler) backoffEnd(p *pod) time.Time {
	if p.attempts == 0 {
		return p.tried
	}
	return p.tried.Add(s.config.Backoff.Delay(p.attempts - 1))
}
