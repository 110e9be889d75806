package eviction

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// mostDecided bounds how many pods one Start decides about besides the one that
// it hands out: the caller holds a lock.
const mostDecided = 1000

// Start hands out one task to do now, decided from the newest view that the
// tracker has. It may return none, while Next says now. Then thousands of pods
// are being put where they wait for a budget, as with [timedqueue.Queue.Start],
// or for the end of a [Hold].
func (t *Tracker) Start(now time.Time) (Task, bool) {
	if !t.synced {
		return Task{}, false
	}
	now = t.advance(now)
	t.doubtAccepted(now)
	t.uncountStuck(now)
	left := t.most
	for ; left > 0; left-- {
		e, ok := t.parked.next(now)
		if !ok {
			break
		}
		t.decide(now, e)
	}
	for ; left > 0; left-- {
		item, ok := t.evictions.Start(now)
		if !ok {
			break
		}
		e := item.Value.entry()
		var must ruling
		t.rule(&must, e)
		if may := t.unheld(e, &must); may.dueAt(now) {
			return t.begin(now, item, &must, may), true
		}
		t.evictions.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomePostponed, Idle: true})
		t.enterDecided(now, e, e.Value().state, &must)
	}
	return Task{}, false
}

// doubtAccepted decides again about pods that should have been observed to be
// terminating by now.
func (t *Tracker) doubtAccepted(now time.Time) {
	for range mostDecided {
		e, ok := takeDue(t.accepted, now)
		if !ok {
			return
		}
		t.uncount(e)
		t.enter(now, e, staying, nil)
		t.decide(now, e)
	}
}

// begin hands out a pod that must leave by a ruling, and may by another.
func (t *Tracker) begin(
	now time.Time, item timedqueue.Item[types.UID, pod], must, may *ruling,
) Task {
	e := item.Value.entry()
	p, n := e.Value(), e.Value().node
	a := &attempt{entry: e, item: item, must: report{must.reason, must.due}}
	t.running[e.Key()] = a
	held := t.heldOn(n)
	task := Task{
		Pod:                 p.key(e.Key()),
		Node:                n.name,
		Decision:            may.decision(),
		HasDisruptionTarget: p.marked,
		Generation:          int64(p.traits.generation),
		StartedAt:           now,
		attempt:             a,
		view: view{
			node:   n.uid,
			taints: n.taints,
			asked:  t.unheldRequests(e, held),
			pod:    t.view(p),
			config: &t.config,
			held:   held,
		},
	}
	if n := t.notesOn(e); n != nil {
		task.Attempts = n.attempts
	}
	t.enter(now, e, evicting, nil)
	return task
}

// Next returns when Start can next hand something out, and false when only a
// change of the tracker makes a difference.
func (t *Tracker) Next(now time.Time) (time.Time, bool) {
	if !t.synced {
		return time.Time{}, false
	}
	now = t.advance(now)
	if t.parked.reopening() {
		return now, true
	}
	at, ok := t.evictions.Next(now)
	for _, aside := range [...]*aside{t.accepted, t.counted} {
		if next, has := aside.Next(now); has && (!ok || next.Before(at)) {
			at, ok = next, true
		}
	}
	return at, ok
}
