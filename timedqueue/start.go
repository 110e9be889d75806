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
func (q *Queue[K, V]) Start(now time.Time) (Item[K, V], bool) {
	return q.start(now, q.waiting)
}

// OfKind returns the items of one kind of work as a source. A [Throttle] or
// [InOrder] can then treat the kinds of one queue differently. A name that is
// not in QueueConfig.Kinds means all other kinds.
func (q *Queue[K, V]) OfKind(name string) Source[Item[K, V]] {
	kind := q.kindNamed(name)
	waiting := q.waiting[kind : kind+1]
	return SourceOf(
		func(now time.Time) (Item[K, V], bool) { return q.start(now, waiting) },
		func(now time.Time) (time.Time, bool) { return q.nextOf(now, waiting) },
	)
}

// start is Start for some kinds.
func (q *Queue[K, V]) start(now time.Time, kinds []heap[*Entry[K, V]]) (Item[K, V], bool) {
	q.Advance(now)
	moves := mostMoves
	q.limits.openShares(&moves)
	if q.limits.shut() != nil {
		return Item[K, V]{}, false
	}
	for ; moves > 0; moves-- {
		e := q.first(kinds)
		if e == nil {
			break
		}
		l := q.limits.laneOf(e)
		if l == nil {
			return q.begin(e), true
		}
		q.takeOut(e)
		q.limits.enter(e, l)
	}
	return Item[K, V]{}, false
}

// first returns the first of the due items that no budget is known to delay, or
// nil.
func (q *Queue[K, V]) first(kinds []heap[*Entry[K, V]]) *Entry[K, V] {
	first := q.limits.first()
	for i := range kinds {
		p := kinds[i].first()
		if p == nil || time.Duration(p.due) > q.clock.now {
			continue
		}
		if first == nil || q.comesBefore(p.element, first) {
			first = p.element
		}
	}
	return first
}

func (q *Queue[K, V]) comesBefore(a, b *Entry[K, V]) bool {
	if a.due != b.due {
		return a.due < b.due
	}
	return q.before(a, b)
}

// begin hands an item out.
func (q *Queue[K, V]) begin(e *Entry[K, V]) Item[K, V] {
	item := q.item(e)
	item.grant = q.limits.take(e) // before takeOut, which may drop a share
	q.takeOut(e)
	delete(q.backoffs, e)
	q.starts++
	e.state, e.link = acting, q.starts
	e.index = int32(len(q.acting))
	q.acting = append(q.acting, e)
	item.queue, item.entry, item.start = q, e, e.link
	return item
}

// Finish takes the result of the action on an item that Start has handed out.
// Finish each started item once. A second Finish, or one for an item of another
// queue, changes nothing.
func (q *Queue[K, V]) Finish(now time.Time, item Item[K, V], result Result) {
	e := item.entry
	if item.queue != q || !e.state.handedOut() || e.link != item.start {
		return
	}
	q.Advance(now)
	q.endActing(e)
	q.limits.settle(item.grant, result.outcome().returnsTokens())
	switch e.state {
	case removed:
		q.forget(e)
	case replaced:
		q.applyLate(e, Result{Outcome: OutcomeDone})
	case changed:
		q.applyLate(e, result)
	default:
		q.applyResult(e, result)
	}
}

// endActing removes an entry from the list of those that are acted on.
func (q *Queue[K, V]) endActing(e *Entry[K, V]) {
	last := len(q.acting) - 1
	moved := q.acting[last]
	q.acting[e.index], moved.index = moved, e.index
	q.acting[last] = nil
	q.acting = q.acting[:last]
}

// Next returns when to call Start: no later than it can next hand something
// out, and now or before when it can already. With shares the time may be
// earlier, because Start first moves due items to their shares. Next returns
// false when nothing waits, or a limit of zero or MaxActing holds what waits.
// Then only a change of the queue makes a difference.
func (q *Queue[K, V]) Next(now time.Time) (time.Time, bool) { return q.nextOf(now, q.waiting) }

// nextOf is Next for some kinds.
func (q *Queue[K, V]) nextOf(now time.Time, kinds []heap[*Entry[K, V]]) (time.Time, bool) {
	q.Advance(now)
	due := never
	for i := range kinds {
		if p := kinds[i].first(); p != nil {
			due = min(due, time.Duration(p.due))
		}
	}
	at, ok := q.limits.next(due)
	if !ok {
		return time.Time{}, false
	}
	return q.clock.time(at), true
}
