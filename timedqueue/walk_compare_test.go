package timedqueue

import (
	"errors"
	"fmt"
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
		same("Pending", w.queue.Pending(), w.want.pending()),
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
	if item.idle != got.Due.IsZero() || !item.idle && near(item.due) && !got.Due.Equal(item.due) {
		return fmt.Errorf("Get(%d).Due is %v, want %v, idle %v", key, got.Due, item.due, item.idle)
	}
	return w.compareEntry(w.queue.entries[key], item)
}

func (w *walk) compareEntry(e *Entry[int, work], item *refItem) error {
	acting := w.want.acting(item.key) != nil
	due, hasDue := w.queue.Due(e)
	if hasDue && near(item.due) && !due.Equal(item.due) {
		return fmt.Errorf("Due(%d) is %v, want %v", item.key, due, item.due)
	}
	return errors.Join(
		same(fmt.Sprintf("whether %d has a due time", item.key), hasDue, !item.idle && !acting),
		same(fmt.Sprintf("Acting(%d)", item.key), w.queue.Acting(e), acting),
		w.compareBlocking(e, item, acting),
	)
}

// compareBlocking knows the answer only right after a Start that found nothing.
func (w *walk) compareBlocking(e *Entry[int, work], item *refItem, acting bool) error {
	name, blocked := w.queue.Blocking(e)
	waits := !item.idle && !acting && !item.due.After(w.want.now)
	if blocked && !waits {
		return fmt.Errorf("Blocking(%d) is %q, but the item is not due, or acted on", item.key, name)
	}
	if !w.held {
		return nil
	}
	if !blocked {
		return same(fmt.Sprintf("whether Blocking(%d) is known", item.key), blocked, waits)
	}
	w.reach("Blocking", true)
	for _, b := range w.want.budgets {
		if b.name == name {
			return same(fmt.Sprintf("whether %q has a token for %d", name, item.key),
				w.want.hasToken(b, item), false)
		}
	}
	return fmt.Errorf("Blocking(%d) is %q, which is no budget", item.key, name)
}

func (w *walk) compareAll() error {
	seen := 0
	for e := range w.queue.All() {
		item := w.want.find(e.Key())
		if item == nil || item.idle && w.want.acting(item.key) == nil || *e.Value() != item.value {
			return fmt.Errorf("All has key %d with %v", e.Key(), *e.Value())
		}
		seen++
	}
	return same("the number of entries in All", seen, w.want.pending())
}

func (w *walk) compareNext() error {
	w.want.advance(w.now)
	got, ok := w.queue.Next(w.now)
	want, wantOK := w.want.next()
	keyed := len(w.queue.keyed) > 0
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

// empty ends all actions, removes all keys and checks that nothing is left.
func (w *walk) empty() error {
	for _, b := range w.want.budgets {
		for _, s := range b.shares {
			if err := same("the starts in a window above those allowed", s.excess(), 0); err != nil {
				return err
			}
		}
	}
	for _, item := range w.open {
		w.queue.Finish(w.now, item, Result{})
	}
	for key := range walkKeys {
		w.queue.Remove(key)
	}
	for _, b := range w.queue.keyed {
		for name := range b.shares {
			w.queue.SetLimit(w.now, b.Name, name, 1000)
		}
	}
	w.queue.Advance(w.latest.Add(time.Hour))
	shares := 0
	for _, b := range w.queue.keyed {
		for name := range b.shares {
			w.queue.RemoveShare(w.now, b.Name, name)
		}
		shares += len(b.shares)
	}
	left := len(w.queue.entries) + len(w.queue.acting)
	left += w.queue.closed.len() + w.queue.idle.len() + w.queue.Len() + w.queue.Pending()
	for _, k := range w.queue.kinds {
		left += k.waiting.len() + k.open.len()
	}
	return errors.Join(
		same("the number of shares left", shares, 0),
		same("the number of lanes left", len(w.queue.lanes)-len(w.queue.freeLanes), 0),
		same("what is left", left, 0),
		soundness(w.queue),
	)
}

// soundness checks that redundant state inside a queue is consistent.
func soundness[K comparable, V any](q *Queue[K, V]) error {
	err := errors.Join(
		ordered("closed", &q.closed, func(s *share[K, V]) int32 { return s.index }),
		ordered("idle", &q.idle, func(s *share[K, V]) int32 { return s.index }),
	)
	for i := range q.kinds {
		err = errors.Join(err,
			ordered("waiting", &q.kinds[i].waiting, func(e *Entry[K, V]) int32 { return e.index }),
			ordered("open", &q.kinds[i].open, func(l *lane[K, V]) int32 { return l.index }),
		)
	}
	for i, e := range q.acting {
		if int(e.index) != i || !e.state.handedOut() {
			err = errors.Join(err, fmt.Errorf("acting %d is wrong: %v at %d", i, e.state, e.index))
		}
	}
	pending := 0
	for _, e := range q.entries {
		if e.state.member() && e.state != idle {
			pending++
		}
	}
	for _, budgets := range [][]*budget[K, V]{q.gates, q.keyed} {
		for _, b := range budgets {
			delayed := 0
			for _, s := range b.shares {
				err = errors.Join(err, soundShare(q, s))
				delayed += s.items
			}
			err = errors.Join(err, same("the items that wait for "+b.Name, q.Delayed(b.Name), delayed))
		}
	}
	return errors.Join(err, same("the count of pending entries", q.pending, pending))
}

func soundShare[K comparable, V any](q *Queue[K, V], s *share[K, V]) error {
	var err error
	items, open := 0, false
	for _, l := range s.lanes {
		open = open || l.open
		items += l.heap.len()
		err = errors.Join(err, ordered("a lane of "+s.name, &l.heap, func(e *Entry[K,
			V]) int32 {
			return e.index
		}))
		if l.open && q.kinds[l.kind].open.at(int(l.index)).element != l {
			err = errors.Join(err, fmt.Errorf("lane %d of %s is not where it says", l.id, s.name))
		}
		if q.lanes[l.id] != l {
			err = errors.Join(err, fmt.Errorf("lane %d of %s has another's number", l.id, s.name))
		}
		for i := range l.heap.len() {
			p := l.heap.at(i)
			if p.element.state != ready || p.element.link != l.id {
				err = errors.Join(err, fmt.Errorf("an entry of %s is %v in %d", s.name, p.element.state,
					p.element.link))
			}
		}
	}
	if s.heap != nil && s.heap.at(int(s.index)).element != s {
		err = errors.Join(err, fmt.Errorf("share %s is not where it says", s.name))
	}
	return errors.Join(err,
		same("the items of "+s.name, s.items, items),
		same("whether "+s.name+" is in a heap", s.heap != nil || items == 0 || open, true),
		same("whether "+s.name+" is gone", s.dropped, false))
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
