package eviction

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// pods are the pods that are known. They decide when each must leave, and put it
// where it waits for that.
type pods struct {
	stages   stages
	attempts *attempts
	rules    rules
	recent   recentTraits // so that pods share theirs
	most     int          // pods about which one Start decides
}

// mostDecided bounds how many pods one Start decides about besides the one that
// it hands out: the caller holds a lock.
const mostDecided = 1000

func newPods(
	config *Config, queue timedqueue.QueueConfig[types.UID, pod], now time.Time,
) (pods, error) {
	attempts := newAttempts(config.Backoff)
	stages, err := newStages(config, queue, now)
	return pods{
		stages:   stages,
		attempts: attempts,
		rules:    rules{config: config, epoch: now, attempts: attempts},
		most:     mostDecided,
	}, err
}

// advance returns now, or the latest time that was passed in before if that is
// later.
func (s *pods) advance(now time.Time) time.Time { return s.stages.evictions.Advance(now) }

// find returns the entry of a pod that is known.
func (s *pods) find(id types.UID) (*entry, bool) { return s.stages.evictions.Find(id) }

// keep returns the entry of a pod, and true if it is new and has to be placed.
func (s *pods) keep(id types.UID) (*entry, bool) { return s.stages.evictions.Keep(id, pod{}) }

// place makes a new entry that of a subject on a node.
func (s *pods) place(now time.Time, e *entry, name string, n *node, arrived time.Time) {
	*e.Value() = pod{name: name, node: n, arrived: arrived.Sub(s.rules.epoch)}
	n.addPod(e)
	if s.stages.evictions.Acting(e) { // on its former record
		s.attempts.overtake(e)
		s.stages.enter(now, e, evicting, nil)
	}
}

// observe takes a pod that has a place as it is now.
func (s *pods) observe(now time.Time, e *entry, as *Subject) {
	p := e.Value()
	p.kind = as.kind()
	p.marked = as.marked
	s.setTraits(e, as)
	a := s.attempts.on(e)
	switch {
	case a != nil:
		a.observed = true
		a.terminating = as.Leaving
	case as.Leaving:
		s.stages.enter(now, e, leaving, nil)
	case p.state == leaving:
		s.stages.vacate(e)
		s.attempts.forgive(e)
		s.stages.enter(now, e, staying, nil)
	}
	if as.Leaving && (p.marked || a != nil || s.stages.evictions.Occupied(e)) {
		s.stages.terminating(now, e, as.terminatedBy(now))
	}
	s.decide(now, e)
}

// setTraits records what a pod has in common with others.
func (s *pods) setTraits(e *entry, as *Subject) {
	p := e.Value()
	former := p.traits
	if former != nil && former.areOf(as) {
		return
	}
	p.traits = s.recent.of(as)
	if former != nil && former.waitAs(as) {
		return
	}
	// Before its node was observed its shares are not known: then to learn them is
	// not to move.
	if p.node.state == present || p.state == pending {
		s.stages.evictions.Refile(e)
	}
}

// setShares says which shares of the budgets by node are those of a node.
func (s *pods) setShares(n *node, shares []string) {
	if slices.Equal(n.shares, shares) {
		return
	}
	n.shares = shares
	for _, e := range n.pods {
		s.stages.evictions.Refile(e)
	}
}

func (s *pods) forget(now time.Time, e *entry) {
	s.attempts.forget(e)
	s.stages.enter(now, e, staying, nil)
	s.stages.vacate(e)
	e.Value().node.removePod(e)
	s.stages.evictions.Release(e)
}

// decideOn decides about the pods of a node. If they may stay, it begins with
// the last: what came last into a heap leaves it in O(1).
func (s *pods) decideOn(now time.Time, n *node) {
	if len(n.taints) == 0 && n.eviction == nil {
		for _, e := range slices.Backward(n.pods) {
			s.decide(now, e)
		}
		return
	}
	for _, e := range n.pods {
		s.decide(now, e)
	}
}

// decide puts a pod into the state that its decision asks for. While an action
// is under way, the pod stays as it is until Finish, and the action learns
// whether its task is moot.
func (s *pods) decide(now time.Time, e *entry) {
	from := e.Value().state
	if from.goes() {
		return
	}
	var must ruling
	s.rules.must(&must, e)
	if a := s.attempts.on(e); a != nil {
		a.signal.Store(a.terminating || !s.rules.may(e, &must).dueAt(now))
		return
	}
	s.enterDecided(now, e, from, &must)
}

// enterDecided puts a pod without an action under way into the state that a
// ruling asks for. It was in the state from before.
func (s *pods) enterDecided(now time.Time, e *entry, from podState, must *ruling) {
	switch {
	case !must.leaves():
		s.attempts.forgive(e)
		s.stages.enter(now, e, staying, nil)
		return
	case from == reported && s.attempts.notesOn(e).reported.same(must):
		s.stages.enter(now, e, reported, nil)
		return
	}
	next, p, may := pending, plan{due: must.due}, must
	if must.dueAt(now) {
		if may = s.rules.may(e, must); !may.dueAt(now) {
			next = onHold
		}
	}
	if may.leaves() {
		p.at = s.attempts.notBefore(e, may.due)
	}
	s.stages.enter(now, e, next, &p)
}

// hold sets what is held everywhere.
func (s *pods) hold(now time.Time, held holdSet) {
	former := s.rules.held
	if held == former {
		return
	}
	s.rules.held = held
	for _, a := range s.attempts.running {
		if a.entry != nil {
			s.decide(now, a.entry)
		}
	}
	if former&^held != 0 {
		s.stages.overdue.reopen()
	}
}

// holdOn sets what is held on a node besides.
func (s *pods) holdOn(now time.Time, n *node, held holdSet) {
	if held == n.held {
		return
	}
	n.held = held
	for _, e := range n.pods {
		if state := e.Value().state; state == onHold || state == evicting {
			s.decide(now, e)
		}
	}
}

// start hands out a pod that is due; see Tracker.Start.
func (s *pods) start(now time.Time) (Task, bool) {
	s.doubt(now)
	left := s.most
	for ; left > 0; left-- {
		e, some := s.stages.overdue.take(now)
		if !some {
			break
		}
		s.decide(now, e)
	}
	for ; left > 0; left-- {
		item, some := s.stages.evictions.Start(now)
		if !some {
			break
		}
		e := item.Value.entry()
		var must ruling
		s.rules.must(&must, e)
		if may := s.rules.may(e, &must); may.dueAt(now) {
			return s.begin(now, item, &must, may), true
		}
		s.stages.evictions.Finish(now, item, unspent)
		s.enterDecided(now, e, e.Value().state, &must)
	}
	return Task{}, false
}

// doubt decides again about pods that should have been observed to be
// terminating by now.
func (s *pods) doubt(now time.Time) {
	for range mostDecided {
		e, some := s.stages.expired(now)
		if !some {
			return
		}
		if e.Value().state == accepted {
			s.stages.enter(now, e, staying, nil)
			s.decide(now, e)
		}
	}
}

// begin hands out a pod that must leave by a ruling, and may by another.
func (s *pods) begin(
	now time.Time, item timedqueue.Item[types.UID, pod], must, may *ruling,
) Task {
	e := item.Value.entry()
	p, n := e.Value(), e.Value().node
	held := s.rules.heldOn(n)
	task := Task{
		Pod:                 p.key(e.Key()),
		Node:                n.name,
		Decision:            may.decision(),
		HasDisruptionTarget: p.marked,
		Generation:          int64(p.traits.generation),
		StartedAt:           now,
		attempt:             s.attempts.begin(item, must),
		view: view{
			node:   n.uid,
			taints: n.taints,
			asked:  s.rules.unheldRequests(e, held),
			pod:    s.rules.view(p),
			config: s.rules.config,
			held:   held,
		},
	}
	if n := s.attempts.notesOn(e); n != nil {
		task.Attempts = n.failures
	}
	s.stages.enter(now, e, evicting, nil)
	return task
}

// An entry has no due time after an action, until it is decided again.
var (
	spent   = timedqueue.Result{Outcome: timedqueue.OutcomeContinued, Idle: true}
	unspent = timedqueue.Result{Outcome: timedqueue.OutcomePostponed, Idle: true}
)

// finish takes the result of a task; see Tracker.Finish.
func (s *pods) finish(now time.Time, task Task, result Result) {
	a := s.attempts.end(task)
	if a == nil {
		return
	}
	outcome := result.outcome()
	ends := unspent
	if outcome.spends() {
		ends = spent
	}
	s.stages.evictions.Finish(now, a.item, ends)
	e := a.entry
	if e == nil {
		return
	}
	left := evicting
	if !a.overtaken {
		left = s.learn(now, a, outcome, result)
	}
	switch {
	case a.terminating:
		s.stages.enter(now, e, leaving, nil)
	case left == accepted:
		s.stages.enter(now, e, accepted, nil)
	default:
		var must ruling
		s.rules.must(&must, e)
		s.enterDecided(now, e, left, &must)
	}
}

// learn records what an attempt says of a pod. It returns the state in which
// the attempt leaves the pod: accepted, reported, or evicting for neither.
func (s *pods) learn(now time.Time, a *attempt, outcome Outcome, result Result) podState {
	e := a.entry
	if result.Pod != nil && KeyOf(result.Pod).ID() == e.Key() && !a.observed {
		e.Value().marked = hasDisruptionTarget(result.Pod)
	}
	switch outcome {
	case OutcomeEvicted, OutcomeGone:
		if outcome == OutcomeEvicted && !a.terminating { // else it counts already
			s.stages.occupy(e)
		}
		s.attempts.forgive(e)
		return accepted
	case OutcomeFailed, OutcomeBlocked:
		s.attempts.failed(now, e, outcome, result)
	case OutcomeNotDue:
		s.attempts.notDue(now, e, result)
	case OutcomeDryRun:
		s.attempts.reported(e, a.must)
		return reported
	}
	return evicting
}

// describe returns where a pod is in its eviction.
func (s *pods) describe(e *entry) Pending {
	p := e.Value()
	var must ruling
	s.rules.must(&must, e)
	d := Pending{
		Pod:      p.key(e.Key()),
		Node:     p.node.name,
		Decision: must.decision(),
		Acting:   p.state == evicting,
	}
	if n := s.attempts.notesOn(e); n != nil {
		d.Attempts, d.Err = n.failures, n.err
	}
	if p.state != pending && p.state != onHold {
		return d
	}
	d.NextAttempt, _ = s.stages.evictions.Due(e)
	now := s.advance(time.Time{})
	if must.dueAt(now) && !s.rules.may(e, &must).dueAt(now) {
		d.Hold = s.rules.holding(p.node, d.Decision)
	} else {
		d.Budget, _ = s.stages.evictions.Blocking(e)
	}
	return d
}

// overdueSince returns the oldest deadline that has passed; see Tracker.Overdue.
func (s *pods) overdueSince(now time.Time) (since time.Time, is bool) {
	since = now
	if due, some := s.stages.earliest(); some && due.Before(since) {
		since, is = due, true
	}
	for _, a := range s.attempts.running {
		if a.entry == nil {
			continue
		}
		var must ruling
		s.rules.must(&must, a.entry)
		if must.leaves() && must.due.Before(since) {
			since, is = must.due, true
		}
	}
	return since, is
}
