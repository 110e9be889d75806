package timedqueue

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

func same[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}

func (w *walk) compare() error {
	err := errors.Join(
		same("Len", w.queue.Len(), len(w.want.items)),
		w.compareAll(),
		soundness(w.queue),
	)
	for key := range walkKeys {
		err = errors.Join(err, w.compareKey(key))
	}
	if err != nil || w.choose.IntN(3) == 0 { // Next tells the time as well; let it not be told always
		return err
	}
	return w.compareNext()
}

func (w *walk) compareKey(key int) error {
	got, ok := w.queue.Get(key)
	item := w.want.find(key)
	if !ok || item == nil {
		return same(fmt.Sprintf("Get(%d)", key), ok, item != nil)
	}
	if got.Value != item.value || got.Attempts != item.attempts {
		return fmt.Errorf("Get(%d) is %+v, want %+v", key, got, *item)
	}
	due := item.due()
	if item.idle != got.Due.IsZero() || !item.idle && near(due) && !got.Due.Equal(due) {
		return fmt.Errorf("Get(%d).Due is %v, want %v, idle %v", key, got.Due, due, item.idle)
	}
	return w.compareEntry(w.queue.entries.byKey[key], item)
}

func (w *walk) compareEntry(e *Entry[int, work], item *refItem) error {
	acting := w.want.acting(item.key) != nil
	due, hasDue := w.queue.Due(e)
	if hasDue && near(item.due()) && !due.Equal(item.due()) {
		return fmt.Errorf("Due(%d) is %v, want %v", item.key, due, item.due())
	}
	return errors.Join(
		same(fmt.Sprintf("whether %d has a due time", item.key), hasDue, !item.idle && !acting),
		same(fmt.Sprintf("Acting(%d)", item.key), w.queue.Acting(e), acting),
	)
}

func (w *walk) compareAll() error {
	seen := 0
	for e := range w.queue.all {
		if !e.state.member() {
			continue // it was removed during its action
		}
		item := w.want.find(e.Key())
		if item == nil || item.idle && w.want.acting(item.key) == nil || *e.Value() != item.value {
			return fmt.Errorf("all has key %d with %v", e.Key(), *e.Value())
		}
		seen++
	}
	return same("the number of entries in all", seen, w.want.pending())
}

func (w *walk) compareNext() error {
	w.want.advance(w.now)
	got, ok := w.queue.Next(w.now)
	want, wantOK := w.want.next()
	keyed := len(w.queue.limits.shared) > 0
	switch {
	case !ok || !wantOK && !keyed:
		return same("whether there is a Next", ok, wantOK)
	case !wantOK: // it may have to move an item first
		return nil
	case !got.After(w.want.now) && !want.After(w.want.now):
		return nil // any time that is not after now says that something can start
	case !near(want) || keyed && got.Before(want):
		return nil
	case got.Sub(want).Abs() > 10*time.Nanosecond:
		return fmt.Errorf("Next is %v, want %v", got.Sub(epoch), want.Sub(epoch))
	}
	return nil
}

// bounded checks that no share did more over any stretch than Q10 allows.
func (w *walk) bounded() error {
	for _, b := range w.want.budgets {
		for name, h := range b.history {
			if excess := h.excess(b.burst); excess > 0 {
				return fmt.Errorf("share %q of %s did more in a stretch than allowed, by %v tokens",
					name, b.name, float64(excess)/float64(refToken))
			}
		}
	}
	return nil
}

// empty ends all actions, removes all keys and checks that nothing is left.
func (w *walk) empty() error {
	if err := w.bounded(); err != nil {
		return err
	}
	for _, item := range w.open {
		w.queue.Finish(w.now, item, Result{})
	}
	for key := range walkKeys {
		w.queue.Remove(key)
	}
	limits := w.queue.limits
	for _, b := range limits.shared {
		for name := range b.shares {
			w.queue.SetLimit(w.now, b.Name, name, 1000)
		}
	}
	w.queue.Advance(w.latest.Add(time.Hour))
	shares := 0
	for _, b := range limits.shared {
		for name := range b.shares {
			w.queue.RemoveShare(w.now, b.Name, name)
		}
		if b.ShareOf != nil {
			shares += len(b.shares)
		}
	}
	left := len(w.queue.entries.byKey) + len(w.queue.actions.underWay) + len(w.queue.failures.of)
	left += limits.open.len() + limits.closed.len() + limits.idle.len()
	left += w.queue.Len() + len(w.queue.slots.grants)
	for i := range w.queue.waiting.byKind {
		left += w.queue.waiting.byKind[i].len()
	}
	return errors.Join(
		same("the number of shares left", shares, 0),
		same("the number of lanes left", limits.liveLanes(), 0),
		same("what is left", left, 0),
		soundness(w.queue),
	)
}

// liveLanes counts the lanes in use.
func (m *limits[K, V]) liveLanes() int {
	live := 0
	for _, l := range m.lanes {
		if l.share != nil {
			live++
		}
	}
	return live
}

// soundness checks that redundant state inside a queue is consistent.
func soundness[K comparable, V any](q *Queue[K, V]) error {
	indexOfShare := func(s *share[K, V]) int32 { return s.index }
	m := q.limits
	err := errors.Join(
		ordered("open", &m.open, indexOfShare),
		ordered("closed", &m.closed, indexOfShare),
		ordered("idle", &m.idle, indexOfShare),
	)
	for i := range q.waiting.byKind {
		err = errors.Join(err, soundTimeline(&q.waiting.byKind[i]))
	}
	for i, a := range q.actions.underWay {
		e := a.entry
		if int(e.index) != i || !e.state.handedOut() {
			err = errors.Join(err, fmt.Errorf("acting %d is wrong: %v at %d", i, e.state, e.index))
		}
	}
	for _, e := range q.entries.byKey {
		if _, backsOff := q.failures.of[e]; backsOff && e.state != waiting && e.state != ready {
			err = errors.Join(err, fmt.Errorf("an entry that is %v backs off", e.state))
		}
	}
	lanes := 0
	for _, budgets := range [][]*budget[K, V]{m.overall, m.shared} {
		for _, b := range budgets {
			delayed := 0
			for _, s := range b.shares {
				err = errors.Join(err, soundShare(q, s))
				delayed += s.items
				lanes += len(lanesOf(s))
			}
			err = errors.Join(err, same("the items that wait for "+b.Name, q.Delayed(b.Name), delayed))
		}
	}
	return errors.Join(err,
		same("the count of lanes", m.liveLanes(), lanes))
}

func soundTimeline[K comparable, V any](l *timeline[K, V]) error {
	err := ordered("waiting", &l.heap, func(e *Entry[K, V]) int32 { return e.index })
	listed, previous := 0, (*Entry[K, V])(nil)
	for e := l.head; e != nil; e = e.next {
		if e.index != inList || e.previous != previous || previous != nil && l.precedes(e, previous) {
			err = errors.Join(err, fmt.Errorf("the list is wrong at its entry %d", listed))
		}
		listed, previous = listed+1, e
	}
	if l.tail != previous {
		err = errors.Join(err, errors.New("the list does not end with its tail"))
	}
	return errors.Join(err, same("the count of the list", l.listed, listed))
}

func lanesOf[K comparable, V any](s *share[K, V]) []*lane[K, V] {
	lanes := slices.Collect(maps.Values(s.lanes))
	if s.lane != nil {
		lanes = append(lanes, s.lane)
	}
	return lanes
}

func soundShare[K comparable, V any](q *Queue[K, V], s *share[K, V]) error {
	indexOfLane := func(l *lane[K, V]) int32 { return l.index }
	err := errors.Join(
		ordered("holding of "+s.name, &s.holding, indexOfLane),
		ordered("others of "+s.name, &s.others, indexOfLane),
	)
	items, acting, slots := 0, 0, 0
	for _, l := range lanesOf(s) {
		items += l.items.len()
		acting += l.acting
		if l.acting > 0 {
			slots++
		}
		err = errors.Join(err, soundLane(q, s, l))
	}
	if s.budget.HolderOf == nil {
		acting, slots = s.acting, s.acting
	}
	wait, ok := s.bucket.until(q.clock.now)
	first := s.first()
	in := s.heap
	switch {
	case first == nil:
	case !ok:
		err = errors.Join(err, same("whether held "+s.name+" is in no heap", in == nil, true))
	case in != &q.limits.open && in != &q.limits.closed:
		err = errors.Join(err, fmt.Errorf("share %s has items and is neither open nor closed", s.name))
	case in == &q.limits.open && wait > 0:
		err = errors.Join(err, fmt.Errorf("share %s is open and has no token", s.name))
	}
	if in != nil && in.at(int(s.index)).element != s {
		err = errors.Join(err, fmt.Errorf("share %s is not where it says", s.name))
	}
	return errors.Join(err,
		same("the items of "+s.name, s.items, items),
		same("the actions of "+s.name, s.acting, acting),
		same("the slots of "+s.name, s.slots, slots))
}

func soundLane[K comparable, V any](q *Queue[K, V], s *share[K, V], l *lane[K, V]) error {
	var err error
	var want *heap[*lane[K, V]]
	switch {
	case l.items.len() > 0 && l.acting > 0:
		want = &s.holding
	case l.items.len() > 0:
		want = &s.others
	case s.budget.HolderOf != nil && l.acting == 0:
		err = fmt.Errorf("lane %d of %s is not needed", l.id, s.name)
	}
	if l.heap != want || want != nil && want.at(int(l.index)).element != l {
		err = errors.Join(err, fmt.Errorf("lane %d of %s is not where it belongs", l.id, s.name))
	}
	if q.limits.lanes[l.id] != l || l.share != s {
		err = errors.Join(err, fmt.Errorf("lane %d of %s has another's number", l.id, s.name))
	}
	for i := range l.items.len() {
		e := l.items.at(i).element
		if e.state != ready || e.link != l.id {
			err = errors.Join(err, fmt.Errorf("an entry of %s is %v in %d", s.name, e.state, e.link))
		}
	}
	return errors.Join(err, ordered("a lane of "+s.name, &l.items,
		func(e *Entry[K, V]) int32 { return e.index }))
}

// ordered reports an element that precedes its parent or has a wrong index.
func ordered[E placed](name string, h *heap[E], index func(E) int32) error {
	for i := range h.len() {
		p := h.at(i)
		if index(p.element) != int32(i) || i > 0 && h.precedes(p, h.at((i-1)/children)) {
			return fmt.Errorf("place %d of %d of %s is wrong", i, h.len(), name)
		}
	}
	return nil
}
