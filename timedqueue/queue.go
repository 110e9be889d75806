package timedqueue

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

// A Queue holds unique keys, each with a value and a due time. It hands out the
// due ones as fast as its budgets allow. It has no clock and starts nothing.
//
// An operation costs O(log n), amortized; Start, Finish and Refile cost that for
// each budget. For a key that is due after all that wait, the log n is saved.
//
// Start also moves due items to the shares that they wait for, and opens shares
// that have a token again: some thousands a call. An item that needs one scarce
// share moves once. One that needs two may move between them repeatedly.
//
// An entry takes its key twice, its value, and about 90 bytes.
//
// Now never goes backwards inside a queue: an earlier now than the last one
// counts as the last one. A Queue is not safe for concurrent use.
type Queue[K comparable, V any] struct {
	clock    clock
	entries  entries[K, V]
	waiting  timelines[K, V]
	limits   *limits[K, V] // with the due items that wait for them
	actions  actions[K, V]
	failures failures[K, V]
	slots    slots[K, V]
}

// An Item is a key that [Queue.Start] handed out, or that [Queue.Get] showed.
type Item[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when the item became due.
	Due time.Time
	// Attempts counts the actions on this item that have failed.
	Attempts int

	entry *Entry[K, V] // nil unless it was handed out
	start uint32
}

// NewQueue returns an empty queue. Its shares hold their bursts of tokens from
// now on, which must not be the zero time.
func NewQueue[K comparable, V any](config QueueConfig[K, V], now time.Time) (*Queue[K, V], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if now.IsZero() {
		return nil, fmt.Errorf("%w: now is zero, want the present time", ErrInvalidConfig)
	}
	before := orderOf[K](config.Less)
	q := &Queue[K, V]{
		clock:    clock{epoch: now},
		entries:  newEntries[K, V](),
		waiting:  newTimelines(config, before),
		failures: newFailures[K, V](config.Backoff),
	}
	q.limits = newLimits(config.Budgets, &q.clock, before)
	q.slots = newSlots(q.limits)
	return q, nil
}

// Add puts a key into the queue, due at a time; the zero time means now. When
// the key is there already, Add changes nothing and returns false. A key that
// was removed while it is acted on waits until that action ends.
func (q *Queue[K, V]) Add(key K, value V, due time.Time) bool {
	e, isNew := q.entries.insert(key, value)
	if isNew {
		q.schedule(e, q.clock.due(due))
	}
	return isNew
}

// Set is Add for a key that may be in the queue: it then replaces its value and
// its due time, earlier or later, and returns false. It is for callers that see
// an object again and again and say each time what is due.
//
// Set never ends a backoff. A key whose last action failed acts at due, or at
// the end of its backoff if that is later; see [Queue.Retry]. So a key whose
// failures change its own object does not retry without pause. Among keys due
// at the same time it keeps the order of its insertion.
//
// During an action, the key stays whatever the result, due as Set says. If the
// action fails, its backoff counts as well.
func (q *Queue[K, V]) Set(key K, value V, due time.Time) (isNew bool) {
	e, isNew := q.entries.insert(key, value)
	if !isNew {
		e.value = value
		q.Refile(e)
	}
	q.schedule(e, q.clock.due(due))
	return isNew
}

// Retry ends the backoff of a key, which is then due as if its last action had
// not failed. It reports whether the key backed off.
func (q *Queue[K, V]) Retry(key K) bool {
	e, ok := q.entries.member(key)
	if !ok {
		return false
	}
	due, backedOff := q.failures.end(e)
	if backedOff {
		q.schedule(e, due)
	}
	return backedOff
}

// Remove removes a key, and reports whether it was in the queue. The result of
// an action that is under way no longer matters.
func (q *Queue[K, V]) Remove(key K) bool {
	e, ok := q.entries.member(key)
	if ok {
		q.remove(e)
	}
	return ok
}

// Get returns the item of a key that is in the queue. Its Due is zero if it has
// no due time.
func (q *Queue[K, V]) Get(key K) (item Item[K, V], found bool) {
	e, found := q.entries.member(key)
	if found {
		e.describe(&item, &q.clock)
	}
	return item, found
}

// Len returns how many keys are in the queue.
func (q *Queue[K, V]) Len() int { return q.entries.members }

// Keep returns the entry of a key, for a caller that keeps its record of the
// key in the queue; see [Entry]. If the key is not in the queue, Keep puts it
// there, with the value and without a due time, and returns true.
func (q *Queue[K, V]) Keep(key K, value V) (*Entry[K, V], bool) {
	e, isNew := q.entries.insert(key, value)
	e.kept = true
	return e, isNew
}

// Find returns the entry of a key that is in the queue.
func (q *Queue[K, V]) Find(key K) (*Entry[K, V], bool) {
	e, ok := q.entries.member(key)
	if ok {
		e.kept = true
	}
	return e, ok
}

// Schedule makes an entry due at a time, as Set does for a key: it never ends a
// backoff.
func (q *Queue[K, V]) Schedule(e *Entry[K, V], due time.Time) {
	if e.state.member() {
		q.schedule(e, q.clock.due(due))
	}
}

// Unschedule removes an entry's due time. The entry stays in the queue, and
// loses its place by insertion, its count of failed attempts and its backoff.
// (An entry that a result leaves without a due time keeps its place.) During an
// action Unschedule wins over the action's result, as Schedule does.
func (q *Queue[K, V]) Unschedule(e *Entry[K, V]) {
	switch e.state {
	case waiting, ready:
		q.takeOut(e)
		e.state = idle
	case acting:
		e.state = changed
	case idle, changed, replaced:
	case out, removed:
		return
	}
	q.failures.end(e)
	e.due, e.attempts, e.order = never, 0, 0
}

// Release is Remove for an entry that the caller does not use again. The queue
// may use it for another key then.
func (q *Queue[K, V]) Release(e *Entry[K, V]) {
	if e.state.member() {
		e.kept = false
		q.remove(e)
	}
}

// Refile puts an entry where it belongs after its value was changed in place.
// It must follow each change of what budgets, Less or KindOf read. The entry
// keeps its place by insertion. If it moves to a share that is new, that share
// begins empty. An entry that has never had a due time moves only from where
// Refile has put it before.
func (q *Queue[K, V]) Refile(e *Entry[K, V]) {
	if !e.state.member() {
		return
	}
	switch e.state {
	case ready:
		q.limits.leave(e)
		q.waiting.push(e, e.due)
	case waiting:
		q.waiting.refile(e)
	case out, idle, acting, changed, removed, replaced:
	}
	q.slots.refile(e)
	former := e.shares
	e.shares = q.limits.hashOfShares(e)
	// Only now are the heaps in order again, which this may change.
	if former != 0 && former != e.shares {
		q.limits.moved(e)
	}
}

// Due returns when an entry is due, and false if it has no due time or is acted
// on.
func (q *Queue[K, V]) Due(e *Entry[K, V]) (time.Time, bool) {
	if e.state != waiting && e.state != ready {
		return time.Time{}, false
	}
	return q.clock.time(e.due), true
}

// Earliest returns the earliest due time of all that wait, also of what a
// budget delays. It is false if nothing has a due time. It costs O(kinds and
// shares).
func (q *Queue[K, V]) Earliest() (time.Time, bool) {
	due := min(earliest(q.waiting.byKind), q.limits.earliest())
	return q.clock.time(due), due != never
}

// Acting reports whether an entry was handed out and its action has not ended.
func (q *Queue[K, V]) Acting(e *Entry[K, V]) bool { return e.state.handedOut() }

// Blocking returns the name of a budget that delays an entry, as far as that is
// known. Start may not have examined an entry that has just become due.
func (q *Queue[K, V]) Blocking(e *Entry[K, V]) (string, bool) {
	if b := q.limits.blocking(e); b != nil {
		return b.Name, true
	}
	return "", false
}

// Occupy makes an entry count for MaxActing until Vacate, whether it acts or
// not. It is for work that goes on after its action, such as a pod that was
// evicted and has yet to terminate. It waits for no free slot. Refile moves its
// slots. An entry that is to act again needs others, so vacate it first.
func (q *Queue[K, V]) Occupy(e *Entry[K, V]) {
	if e.state.member() {
		q.slots.occupy(e)
	}
}

// Occupied reports whether an entry counts for MaxActing since Occupy.
func (q *Queue[K, V]) Occupied(e *Entry[K, V]) bool { return q.slots.occupied(e) }

// Vacate ends what Occupy began. An entry that is removed is vacated.
func (q *Queue[K, V]) Vacate(e *Entry[K, V]) { q.slots.vacate(e) }

// Advance sets the queue's time and returns it: now, or the latest time that
// any call has passed if that is later.
func (q *Queue[K, V]) Advance(now time.Time) time.Time { return q.clock.advance(now) }

// SetLimit changes the rate of one share of a budget. For a budget without
// ShareOf it changes the budget's, and share is ignored. It returns false when
// there is no budget of that name.
//
// A limit of zero holds the share's items, also while a token is at hand.
// SetLimit never raises the tokens at hand: when items are no longer held,
// those that have become due leave at the new rate. A limit that is negative or
// not a number holds, like zero.
//
// A limit other than the budget's stays until it is set to that of the budget,
// or until [Queue.RemoveShare].
func (q *Queue[K, V]) SetLimit(now time.Time, budget, share string, limit rate.Limit) bool {
	b := q.limits.budget(budget)
	if b == nil {
		return false
	}
	q.Advance(now)
	if b.ShareOf == nil {
		share = ""
	}
	q.limits.setLimit(b, share, limit)
	return true
}

// Limit returns the rate of a share, and false when there is no such budget.
func (q *Queue[K, V]) Limit(budget, share string) (rate.Limit, bool) {
	b := q.limits.budget(budget)
	if b == nil {
		return 0, false
	}
	if b.ShareOf == nil {
		share = ""
	}
	if s, known := b.shares[share]; known {
		return s.bucket.limit, true
	}
	return normalize(b.Limit), true
}

// Delayed returns how many due items wait for a share of a budget, as far as
// Start has found that. It reads a running count. It is zero for a budget with
// neither ShareOf nor HolderOf, which delays all or none.
func (q *Queue[K, V]) Delayed(budget string) int {
	if b := q.limits.budget(budget); b != nil {
		return b.delayed
	}
	return 0
}

// RemoveShare lets the queue forget a share that no more items are expected in,
// for example when its zone is gone. The share's limit becomes the budget's
// again, and the items in it go on. An item that starts cancels the removal.
//
// An empty share without an action under way is forgotten when it has all its
// tokens. Until then, a new share of that name would have more. If a key moves
// to it, or SetLimit names it, it begins empty as a new one would.
//
// A queue forgets shares without a limit of their own also without RemoveShare,
// once they are empty and have all their tokens.
func (q *Queue[K, V]) RemoveShare(now time.Time, budget, share string) {
	b := q.limits.budget(budget)
	if b == nil || b.ShareOf == nil {
		return
	}
	if s, known := b.shares[share]; known {
		q.Advance(now)
		q.limits.removeShare(s)
	}
}

// Start hands out the first item that is due and for which each budget has a
// token, and spends those. The item is acting until [Queue.Finish].
//
// When thousands of items or shares must be moved first, Start may hand out
// nothing although it could. Next then returns now, and the next Start goes on.
func (q *Queue[K, V]) Start(now time.Time) (item Item[K, V], found bool) {
	found = q.startTask(now, &item)
	return item, found
}

// Next returns when to call Start: no later than it can next hand something
// out, and now or before when it can already. With shares the time may be
// earlier, because Start first moves due items to their shares. Next returns
// false when nothing waits, or a limit of zero or MaxActing holds what waits.
// Then only a change of the queue makes a difference.
func (q *Queue[K, V]) Next(now time.Time) (time.Time, bool) {
	return starter[K, V]{q, q.waiting.byKind}.Next(now)
}

// OfKind returns the items of one kind of work as a source. A [Throttle] or
// [InOrder] can then treat the kinds of one queue differently. A name that is
// not in QueueConfig.Kinds means all other kinds.
func (q *Queue[K, V]) OfKind(name string) Source[Item[K, V]] {
	kind := q.waiting.kindNamed(name)
	return starter[K, V]{q, q.waiting.byKind[kind : kind+1]}
}

// Finish takes the result of the action on an item that Start has handed out.
// Finish each started item once. A second Finish, or one for an item of another
// queue, changes nothing.
func (q *Queue[K, V]) Finish(now time.Time, item Item[K, V], result Result) {
	q.finishTask(now, &item, &result)
}

// core, startTask and finishTask make a queue an [inPlace].
func (q *Queue[K, V]) core() any { return q }

func (q *Queue[K, V]) startTask(now time.Time, item *Item[K, V]) bool {
	return starter[K, V]{q, q.waiting.byKind}.start(now, item)
}

func (q *Queue[K, V]) finishTask(now time.Time, item *Item[K, V], result *Result) {
	e := item.entry
	if !q.actions.has(e, item.start) {
		return
	}
	q.Advance(now)
	outcome := result.outcome()
	q.limits.settle(q.actions.end(e), outcome.returnsTokens())
	switch e.state {
	case removed:
		q.forget(e)
	case replaced:
		q.applyLate(e, OutcomeDone, result)
	case changed:
		q.applyLate(e, outcome, result)
	default:
		q.applyResult(e, outcome, result)
	}
}

// applyResult applies the result of an action during which its key has not
// changed.
func (q *Queue[K, V]) applyResult(e *Entry[K, V], outcome Outcome, result *Result) {
	switch outcome {
	case OutcomeDone, OutcomeSkipped:
		q.forget(e)
		return
	case OutcomeFailed:
		until := q.failures.add(e, q.clock.now, q.clock.now, result.RetryAfter)
		q.waiting.push(e, until)
		return
	}
	if outcome == OutcomeContinued {
		e.attempts = 0
	}
	if result.Idle {
		e.state, e.due = idle, never
	} else {
		q.waiting.push(e, q.clock.distance(result.At))
	}
}

// applyLate applies the result of an action during which its key was given
// another due time, or none.
func (q *Queue[K, V]) applyLate(e *Entry[K, V], outcome Outcome, result *Result) {
	switch {
	case e.due == never:
		e.state, e.attempts = idle, 0
		return
	case outcome == OutcomeFailed:
		e.due = q.failures.add(e, q.clock.now, e.due, result.RetryAfter)
	case outcome != OutcomePostponed:
		e.attempts = 0
	}
	q.waiting.push(e, e.due)
}

// schedule makes an entry due at a time, or at the end of its backoff.
func (q *Queue[K, V]) schedule(e *Entry[K, V], due time.Duration) {
	if e.shares == 0 { // Keep may have had a value that was not complete
		e.shares = q.limits.hashOfShares(e)
	}
	due = q.failures.schedule(e, due)
	switch e.state {
	case idle:
		q.waiting.push(e, due)
	case waiting:
		if due != e.due {
			q.waiting.move(e, due)
		}
	case ready:
		if due != e.due {
			q.limits.leave(e)
			q.waiting.push(e, due)
		}
	case acting:
		q.waiting.assignOrder(e)
		e.state, e.due = changed, due
	case changed, replaced:
		q.waiting.assignOrder(e)
		e.due = due
	case out, removed:
	}
}

// takeOut takes an item out of the timeline or lane that it is in, and in order.
func (q *Queue[K, V]) takeOut(e *Entry[K, V]) {
	if e.state == ready {
		q.limits.leave(e)
		return
	}
	q.waiting.remove(e)
}

func (q *Queue[K, V]) remove(e *Entry[K, V]) {
	q.failures.end(e)
	switch e.state {
	case waiting, ready:
		q.takeOut(e)
	case acting, changed, replaced:
		q.slots.vacate(e)
		q.entries.removeActing(e)
		return
	case out, idle, removed:
	}
	q.forget(e)
}

// forget drops an entry that is in no heap and not acted on.
func (q *Queue[K, V]) forget(e *Entry[K, V]) {
	q.slots.vacate(e)
	q.entries.forget(e)
	if q.entries.wasteful() {
		q.shrink()
	}
}

// shrink releases memory after many entries have left.
func (q *Queue[K, V]) shrink() {
	q.entries.shrink(q.all)
	q.waiting.shrink()
	q.limits.unused = nil
	q.actions.shrink()
	q.failures.shrink()
}

// all ranges over the entries that wait or are acted on, in no order. The queue
// must not be changed meanwhile.
func (q *Queue[K, V]) all(yield func(*Entry[K, V]) bool) {
	_ = q.waiting.all(yield) && q.limits.all(yield) && q.actions.all(yield)
}
