package timedqueue

import "time"

// mostMoves bounds the shares that one Start opens and the entries that it
// moves to lanes: the caller holds a lock.
const mostMoves = 5_000

// Start hands out the first item that is due and for which each budget has a
// token, and spends those. The item is acting until [Queue.Finish].
//
// When thousands of items or shares must be moved first, Start may hand out
// nothing although it could. Next then returns now, and the next Start goes on.
func (q *Queue[K, V]) Start(now time.Time) (item Item[K, V], found bool) {
	found = q.start(now, q.waiting, &item)
	return item, found
}

// OfKind returns the items of one kind of work as a source. A [Throttle] or
// [InOrder] can then treat the kinds of one queue differently. A name that is
// not in QueueConfig.Kinds means all other kinds.
func (q *Queue[K, V]) OfKind(name string) Source[Item[K, V]] {
	kind := q.kindNamed(name)
	waiting := q.waiting[kind : kind+1]
	return SourceOf(
		func(now time.Time) (item Item[K, V], found bool) {
			found = q.start(now, waiting, &item)
			return item, found
		},
		func(now time.Time) (time.Time, bool) { return q.nextOf(now, waiting) },
	)
}

// start is Start for some kinds. It sets the item in place, because a copy costs
// more than to find it.
func (q *Queue[K, V]) start(now time.Time, kinds []timeline[K, V], item *Item[K, V]) bool {
	e := q.startable(now, kinds)
	if e == nil {
		return false
	}
	q.begin(e)
	q.describe(item, e)
	item.entry, item.start = e, e.link
	return true
}

// startable returns the first entry of some kinds that can start, or nil.
func (q *Queue[K, V]) startable(now time.Time, kinds []timeline[K, V]) *Entry[K, V] {
	q.Advance(now)
	moves := mostMoves
	q.limits.openShares(&moves)
	if q.limits.shut() != nil {
		return nil
	}
	for ; moves > 0; moves-- {
		e := q.first(kinds)
		if e == nil {
			break
		}
		l := q.limits.laneOf(e)
		if l == nil {
			return e
		}
		q.takeOut(e)
		q.limits.enter(e, l)
	}
	return nil
}

// first returns the first of the due items that no budget is known to delay, or
// nil.
func (q *Queue[K, V]) first(kinds []timeline[K, V]) *Entry[K, V] {
	first := q.limits.first()
	for i := range kinds {
		e := kinds[i].first()
		if e == nil || e.due > q.clock.now {
			continue
		}
		if first == nil || kinds[i].precedes(e, first) {
			first = e
		}
	}
	return first
}

// begin hands out an entry.
func (q *Queue[K, V]) begin(e *Entry[K, V]) {
	tokens := q.limits.take(e) // before takeOut, which may drop a share
	q.takeOut(e)
	delete(q.backoffs, e)
	q.starts++
	e.state, e.link, e.index = acting, q.starts, int32(len(q.acting))
	q.acting = append(q.acting, action[K, V]{e, tokens})
}

// Finish takes the result of the action on an item that Start has handed out.
// Finish each started item once. A second Finish, or one for an item of another
// queue, changes nothing.
func (q *Queue[K, V]) Finish(now time.Time, item Item[K, V], result Result) {
	e := item.entry
	if e == nil || !q.actsOn(e) || e.link != item.start {
		return
	}
	q.Advance(now)
	result.Outcome = result.outcome()
	q.limits.settle(q.endActing(e), result.Outcome.returnsTokens())
	switch e.state {
	case removed:
		q.forget(e)
	case replaced:
		q.applyLate(e, &Result{Outcome: OutcomeDone})
	case changed:
		q.applyLate(e, &result)
	default:
		q.applyResult(e, &result)
	}
}

// actsOn reports whether an entry is of this queue and was handed out.
func (q *Queue[K, V]) actsOn(e *Entry[K, V]) bool {
	return e.state.handedOut() && int(e.index) < len(q.acting) && q.acting[e.index].entry == e
}

// endActing ends the action on an entry and returns the tokens that it has.
func (q *Queue[K, V]) endActing(e *Entry[K, V]) *grant[K, V] {
	tokens := q.acting[e.index].grant
	last := len(q.acting) - 1
	moved := q.acting[last]
	q.acting[e.index], moved.entry.index = moved, e.index
	q.acting[last] = action[K, V]{}
	q.acting = q.acting[:last]
	return tokens
}

// Next returns when to call Start: no later than it can next hand something
// out, and now or before when it can already. With shares the time may be
// earlier, because Start first moves due items to their shares. Next returns
// false when nothing waits, or a limit of zero or MaxActing holds what waits.
// Then only a change of the queue makes a difference.
func (q *Queue[K, V]) Next(now time.Time) (time.Time, bool) { return q.nextOf(now, q.waiting) }

// nextOf is Next for some kinds.
func (q *Queue[K, V]) nextOf(now time.Time, kinds []timeline[K, V]) (time.Time, bool) {
	q.Advance(now)
	due := never
	for i := range kinds {
		if e := kinds[i].first(); e != nil {
			due = min(due, e.due)
		}
	}
	at, ok := q.limits.next(due)
	if !ok {
		return time.Time{}, false
	}
	return q.clock.time(at), true
}
