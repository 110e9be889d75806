package timedqueue

import (
	"math"
	"time"
)

// mostMoves bounds the shares that one Start opens and the entries that it
// moves to lanes: the caller holds a lock.
const mostMoves = 5_000

// Start hands out an item that is due and for which each budget has a token,
// and spends those. It is the first such item, or the first of the kind that
// the token is reserved for. The item is acting until [Queue.Finish].
//
// When thousands of items or shares must be moved first, Start may hand out
// nothing although it could. Next then returns now, and the next Start goes on.
func (q *Queue[K, V]) Start(now time.Time) (Item[K, V], bool) {
	return q.start(now, 0, len(q.kinds))
}

// OfKind returns the items of one kind of work as a source. A [Throttle] or
// [InOrder] can then treat the kinds of one queue differently. The kind is one
// of QueueConfig.Kinds or one with a reserved part; any other name means all
// other kinds. The budgets of the queue hold, except for reserved parts, which
// only [Queue.Start] divides.
func (q *Queue[K, V]) OfKind(name string) Source[Item[K, V]] {
	kind := q.kindNamed(name)
	return SourceOf(
		func(now time.Time) (Item[K, V], bool) { return q.start(now, kind, kind+1) },
		func(now time.Time) (time.Time, bool) { return q.nextOf(now, kind, kind+1) },
	)
}

// start is Start for the kinds from one up to another.
func (q *Queue[K, V]) start(now time.Time, from, to int) (Item[K, V], bool) {
	q.Advance(now)
	if q.closedGate() != nil {
		return Item[K, V]{}, false
	}
	moves := mostMoves
	q.openShares(&moves)
	first := -1 // the kind whose item comes first
	for i := from; i < to; i++ {
		k := &q.kinds[i]
		k.next = q.startable(k, &moves)
		if k.next != nil && (first < 0 || comesBefore(k.next, q.kinds[first].next, q.before)) {
			first = i
		}
	}
	if first < 0 || moves == 0 {
		return Item[K, V]{}, false
	}
	if q.parts != nil && to-from == len(q.kinds) {
		first = q.chooseKind(first)
	}
	return q.begin(q.kinds[first].next), true
}

// startable returns the first item of a kind that can start, or nil. It moves
// items before it to lanes, at most as many as moves allows.
func (q *Queue[K, V]) startable(k *kind[K, V], moves *int) *Entry[K, V] {
	for ; *moves > 0; *moves-- {
		e := q.candidate(k)
		if e == nil {
			return nil
		}
		l := q.laneOf(e)
		if l == nil {
			return e
		}
		q.enterLane(e, l)
	}
	return nil
}

// candidate returns the first of the due items of a kind that wait or are in
// open lanes, or nil.
func (q *Queue[K, V]) candidate(k *kind[K, V]) *Entry[K, V] {
	var first *Entry[K, V]
	if p := k.waiting.first(); p != nil && time.Duration(p.due) <= q.now {
		first = p.element
	}
	opened := k.open.first()
	if opened == nil {
		return first
	}
	if e := opened.element.heap.first().element; first == nil || comesBefore(e, first, q.before) {
		return e
	}
	return first
}

// laneOf returns the lane in which a due item must wait: of its share that gets
// a token last. It returns nil if all have one.
func (q *Queue[K, V]) laneOf(e *Entry[K, V]) *lane[K, V] {
	var scarcest *share[K, V]
	longest := time.Duration(0)
	for _, b := range q.keyed {
		s := q.share(b, b.ShareOf(e.key, e.value))
		wait, ok := s.bucket.until(q.now)
		if !ok {
			return s.lanes[q.kindOf(e)]
		}
		if wait > longest {
			scarcest, longest = s, wait
		}
	}
	if scarcest == nil {
		return nil
	}
	return scarcest.lanes[q.kindOf(e)]
}

// chooseKind returns the kind that the next token is for, given the one whose
// item comes first.
func (q *Queue[K, V]) chooseKind(first int) int {
	has := func(kind int) bool { return q.kinds[kind].next != nil }
	kind, entitled := q.parts.entitled(has)
	if !entitled {
		kind = first
	}
	q.parts.granted(kind, has)
	return kind
}

// begin hands an item out.
func (q *Queue[K, V]) begin(e *Entry[K, V]) Item[K, V] {
	tokens := q.spend(e) // before takeOut, which may drop a share
	q.takeOut(e)
	q.starts++
	e.state, e.link = acting, q.starts
	e.index = int32(len(q.acting))
	q.acting = append(q.acting, e)
	item := q.item(e)
	item.queue, item.entry, item.start = q, e, e.link
	item.grant = tokens
	return item
}

// spend takes the tokens that an item needs. All of them are at hand.
func (q *Queue[K, V]) spend(e *Entry[K, V]) *grant[K, V] {
	if len(q.gates)+len(q.keyed) == 0 {
		return nil
	}
	g := q.newGrant()
	for _, b := range q.gates {
		g.tokens = append(g.tokens, q.takeToken(q.share(b, "")))
	}
	for _, b := range q.keyed {
		g.tokens = append(g.tokens, q.takeToken(q.share(b, b.ShareOf(e.key, e.value))))
	}
	return g
}

func (q *Queue[K, V]) takeToken(s *share[K, V]) token[K, V] {
	s.removed = false
	number := s.bucket.take(q.now)
	q.file(s)
	return token[K, V]{s, number}
}

func (q *Queue[K, V]) newGrant() *grant[K, V] {
	n := len(q.grants)
	if n == 0 {
		return new(grant[K, V])
	}
	g := q.grants[n-1]
	q.grants = q.grants[:n-1]
	return g
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
	q.settleGrant(item.grant, result.Outcome.returnsTokens())
	switch e.state {
	case removed:
		q.forget(e)
	case changed:
		q.waitOrIdle(e, e.due)
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

// settleGrant settles the tokens of an action.
func (q *Queue[K, V]) settleGrant(g *grant[K, V], returned bool) {
	if g == nil {
		return
	}
	for _, t := range g.tokens {
		t.share.bucket.settle(q.now, t.number, returned)
		q.file(t.share)
		q.dropRemoved(t.share)
	}
	clear(g.tokens)
	g.tokens = g.tokens[:0]
	q.grants = append(q.grants, g)
}

// applyResult applies the result of an action during which its key has not
// changed.
func (q *Queue[K, V]) applyResult(e *Entry[K, V], result Result) {
	switch result.Outcome {
	case OutcomeDone, OutcomeSkipped:
		q.members--
		q.pending--
		q.forget(e)
	case OutcomeRequeued:
		e.attempts = 0
		q.waitOrIdle(e, q.dueAt(result.At))
	case OutcomePostponed:
		attempts := e.attempts // waitOrIdle may reset them
		q.waitOrIdle(e, q.dueAt(result.At))
		e.attempts = attempts
	default:
		q.retry(e, result.RetryAfter)
	}
}

// waitOrIdle makes an entry wait after an action, or idle without a due time.
func (q *Queue[K, V]) waitOrIdle(e *Entry[K, V], due time.Duration) {
	if due == never {
		q.makeIdle(e)
		return
	}
	q.wait(e, due)
}

// dueAt returns the due time of a result. The zero time means never.
func (q *Queue[K, V]) dueAt(t time.Time) time.Duration {
	if t.IsZero() {
		return never
	}
	return q.distance(t)
}

func (q *Queue[K, V]) retry(e *Entry[K, V], wait time.Duration) {
	if wait <= 0 {
		wait = q.backoff.delay(int(e.attempts))
	}
	if e.attempts < math.MaxUint16 {
		e.attempts++
	}
	q.wait(e, q.now+min(wait, maxWait))
}

// Next returns when to call Start: no later than it can next hand something
// out, and now or before when it can already. With shares the time may be
// earlier, because Start first moves due items to their shares. Next returns
// false when nothing waits, or a limit of zero holds what waits. Then only a
// change of the queue makes a difference.
func (q *Queue[K, V]) Next(now time.Time) (time.Time, bool) {
	return q.nextOf(now, 0, len(q.kinds))
}

// nextOf is Next for the kinds from one up to another.
func (q *Queue[K, V]) nextOf(now time.Time, from, to int) (time.Time, bool) {
	q.Advance(now)
	at, ok := q.next(from, to)
	if !ok {
		return time.Time{}, false
	}
	return q.time(at), true
}

func (q *Queue[K, V]) next(from, to int) (time.Duration, bool) {
	at := never
	for i := from; i < to; i++ {
		if p := q.kinds[i].waiting.first(); p != nil {
			at = min(at, time.Duration(p.due))
		}
		if q.kinds[i].open.len() > 0 {
			at = min(at, q.now)
		}
	}
	if p := q.closed.first(); p != nil {
		at = min(at, time.Duration(p.due))
	}
	if at == never {
		return 0, false
	}
	for _, b := range q.gates {
		wait, ok := b.shares[""].bucket.until(q.now)
		if !ok {
			return 0, false
		}
		if wait > 0 {
			at = max(at, q.now+wait)
		}
	}
	return at, true
}

// closedGate returns a budget of all items that has no token, or nil.
func (q *Queue[K, V]) closedGate() *budget[K, V] {
	for _, b := range q.gates {
		if wait, ok := b.shares[""].bucket.until(q.now); !ok || wait > 0 {
			return b
		}
	}
	return nil
}

// openShares opens the shares that have a token by now, at most as many as
// moves allows. It also drops some of those that are like new ones.
func (q *Queue[K, V]) openShares(moves *int) {
	for ; *moves > 0; *moves-- {
		p := q.closed.first()
		if p == nil || time.Duration(p.due) > q.now {
			break
		}
		q.file(p.element)
	}
	for range mostDropped {
		p := q.idle.first()
		if q.idle.len() <= keptIdle || time.Duration(p.due) > q.now {
			return
		}
		q.dropShare(p.element)
	}
}

const (
	// mostDropped bounds the shares that one Start drops.
	mostDropped = 1000
	// keptIdle is how many idle shares are kept, so that a share that is seldom
	// used is not made each time.
	keptIdle = 64
)
