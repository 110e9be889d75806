package timedqueue

import "time"

// A starter hands out the items of some kinds of work of a queue.
type starter[K comparable, V any] struct {
	queue *Queue[K, V]
	kinds []timeline[K, V]
}

// Start is [Queue.Start] for the starter's kinds.
func (s starter[K, V]) Start(now time.Time) (item Item[K, V], found bool) {
	found = s.start(now, &item)
	return item, found
}

// Next is [Queue.Next] for the starter's kinds.
func (s starter[K, V]) Next(now time.Time) (time.Time, bool) {
	q := s.queue
	q.Advance(now)
	at, ok := q.limits.next(earliest(s.kinds))
	if !ok {
		return time.Time{}, false
	}
	return q.clock.time(at), true
}

// start is Start, except that it sets the item in place; see [inPlace].
func (s starter[K, V]) start(now time.Time, item *Item[K, V]) bool {
	q := s.queue
	q.Advance(now)
	e := s.startable()
	if e == nil {
		return false
	}
	g := q.limits.take(e) // before takeOut, which may drop a share
	q.takeOut(e)
	q.failures.end(e)
	q.actions.begin(e, g)
	e.describe(item, &q.clock)
	item.entry, item.start = e, e.link
	return true
}

// mostMoves bounds the shares that one Start opens and the entries that it
// moves to lanes: the caller holds a lock.
const mostMoves = 5_000

// startable returns the first entry that can start, or nil.
func (s starter[K, V]) startable() *Entry[K, V] {
	limits := s.queue.limits
	moves := mostMoves
	limits.openShares(&moves)
	if limits.shut() != nil {
		return nil
	}
	for ; moves > 0; moves-- {
		e := s.first()
		if e == nil {
			break
		}
		l := limits.laneOf(e)
		if l == nil {
			return e
		}
		s.queue.takeOut(e)
		limits.enter(e, l)
	}
	return nil
}

// first returns the first of the due items that no budget is known to delay, or
// nil.
func (s starter[K, V]) first() *Entry[K, V] {
	first := s.queue.limits.first()
	for i := range s.kinds {
		e := s.kinds[i].first()
		if e == nil || e.due > s.queue.clock.now {
			continue
		}
		if first == nil || s.kinds[i].precedes(e, first) {
			first = e
		}
	}
	return first
}
