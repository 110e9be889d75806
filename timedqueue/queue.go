package timedqueue

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
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
	clock   clock
	backoff Backoff
	limits  *limits[K, V]

	entries  map[K]*Entry[K, V]
	freeList freeList[K, V]
	members  int // entries in the queue; entries also holds removed ones
	pending  int // members that are not idle
	peak     int // the most entries since the queue last released memory
	order    uint32
	starts   uint32

	waiting  []timeline[K, V] // by kind, the last that of all other kinds
	kinds    []string
	kindOf   func(K, V) string
	before   func(a, b *Entry[K, V]) bool
	acting   []action[K, V] // under way, by the index of their entries
	backoffs map[*Entry[K, V]]failure
	occupied map[*Entry[K, V]]*grant[K, V]
}

// An action is that on an entry which was handed out.
type action[K comparable, V any] struct {
	entry *Entry[K, V]
	grant *grant[K, V] // nil if no token was taken
}

// A failure is a backoff that has not ended.
type failure struct {
	until time.Duration // the end of the backoff
	due   time.Duration // when the item would be due without it
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
	q := &Queue[K, V]{
		clock:    clock{epoch: now},
		backoff:  config.Backoff.withDefaults(),
		before:   orderOf[K](config.Less),
		entries:  make(map[K]*Entry[K, V]),
		kinds:    config.kinds(),
		kindOf:   config.KindOf,
		backoffs: make(map[*Entry[K, V]]failure),
		occupied: make(map[*Entry[K, V]]*grant[K, V]),
	}
	q.limits = newLimits(config.Budgets, &q.clock, q.before)
	q.waiting = make([]timeline[K, V], len(q.kinds)+1)
	for i := range q.waiting {
		q.waiting[i] = newTimeline(q.before)
	}
	return q, nil
}

// orderOf orders entries with the same due time.
func orderOf[K comparable, V any](less func(a, b V) bool) func(a, b *Entry[K, V]) bool {
	inserted := func(a, b *Entry[K, V]) bool { return int32(a.order-b.order) < 0 }
	if less == nil {
		return inserted
	}
	return func(a, b *Entry[K, V]) bool {
		if less(a.value, b.value) {
			return true
		}
		return !less(b.value, a.value) && inserted(a, b)
	}
}

// Add puts a key into the queue, due at a time; the zero time means now. When
// the key is there already, Add changes nothing and returns false. A key that
// was removed while it is acted on waits until that action ends.
func (q *Queue[K, V]) Add(key K, value V, due time.Time) bool {
	e, isNew := q.insert(key, value)
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
	e, isNew := q.insert(key, value)
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
	e, ok := q.member(key)
	if !ok {
		return false
	}
	f, backsOff := q.backoffs[e]
	if !backsOff {
		return false
	}
	delete(q.backoffs, e)
	q.schedule(e, f.due)
	return true
}

// Remove removes a key, and reports whether it was in the queue. The result of
// an action that is under way no longer matters.
func (q *Queue[K, V]) Remove(key K) bool {
	e, ok := q.member(key)
	if ok {
		q.remove(e)
	}
	return ok
}

// Get returns the item of a key that is in the queue. Its Due is zero if it has
// no due time.
func (q *Queue[K, V]) Get(key K) (item Item[K, V], found bool) {
	e, found := q.member(key)
	if found {
		q.describe(&item, e)
	}
	return item, found
}

// Len returns how many keys are in the queue.
func (q *Queue[K, V]) Len() int { return q.members }

// Keep returns the entry of a key, for a caller that keeps its record of the
// key in the queue; see [Entry]. If the key is not in the queue, Keep puts it
// there, with the value and without a due time, and returns true.
func (q *Queue[K, V]) Keep(key K, value V) (*Entry[K, V], bool) {
	e, isNew := q.insert(key, value)
	e.kept = true
	return e, isNew
}

// Find returns the entry of a key that is in the queue.
func (q *Queue[K, V]) Find(key K) (*Entry[K, V], bool) {
	e, ok := q.member(key)
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
	if e.state.member() {
		q.unschedule(e)
	}
}

// Drop is Remove for an entry.
func (q *Queue[K, V]) Drop(e *Entry[K, V]) {
	if e.state.member() {
		q.remove(e)
	}
}

// Release is Drop for a caller that does not use the entry again. The queue may
// use it for another key then.
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
		q.wait(e, e.due)
	case waiting:
		q.timelineOf(e).move(e)
		if q.kind(e) != e.link {
			q.takeOut(e)
			q.wait(e, e.due)
		}
	case out, idle, acting, changed, removed, replaced:
	}
	if q.Occupied(e) {
		q.Vacate(e)
		q.Occupy(e)
	}
	former := e.shares
	e.shares = q.hashOfShares(e)
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
	earliest := never
	for i := range q.waiting {
		if first := q.waiting[i].first(); first != nil {
			earliest = min(earliest, first.due)
		}
	}
	for _, l := range q.limits.lanes {
		if first := l.items.first(); first != nil {
			earliest = min(earliest, first.element.due)
		}
	}
	return q.clock.time(earliest), earliest != never
}

// Acting reports whether an entry was handed out and its action has not ended.
func (q *Queue[K, V]) Acting(e *Entry[K, V]) bool { return e.state.handedOut() }

// Blocking returns the name of a budget that delays an entry, as far as that is
// known. Start may not have examined an entry that has just become due.
func (q *Queue[K, V]) Blocking(e *Entry[K, V]) (string, bool) {
	if e.state == ready {
		l := q.limits.lanes[e.link]
		if wait, ok := l.share.admits(q.clock.now, l.holder); !ok || wait > 0 {
			return l.share.budget.Name, true
		}
	}
	if e.state == ready || e.state == waiting && e.due <= q.clock.now {
		if shut := q.limits.shut(); shut != nil {
			return shut.Name, true
		}
	}
	return "", false
}

// all returns the entries that have a due time or are acted on, in no order. The
// queue must not be changed while they are ranged over.
func (q *Queue[K, V]) all() iter.Seq[*Entry[K, V]] {
	return func(yield func(*Entry[K, V]) bool) {
		for i := range q.waiting {
			if !q.waiting[i].all(yield) {
				return
			}
		}
		for _, l := range q.limits.lanes {
			if !l.items.all(yield) {
				return
			}
		}
		for _, a := range q.acting {
			if a.entry.state.member() && !yield(a.entry) {
				return
			}
		}
	}
}

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

// insert returns the entry of a key, and true if the key is new to the queue.
func (q *Queue[K, V]) insert(key K, value V) (*Entry[K, V], bool) {
	e, known := q.entries[key]
	if known && e.state.member() {
		return e, false
	}
	q.members++
	if known { // removed during an action that has not ended
		e.value, e.attempts, e.order, e.due = value, 0, 0, never
		e.state, e.shares = replaced, 0
		q.pending++
		return e, true
	}
	e = q.freeList.take()
	e.key, e.value, e.due, e.state = key, value, never, idle
	q.entries[key] = e
	q.peak = max(q.peak, len(q.entries))
	return e, true
}

// hashOfShares is a hash of the names of an entry's shares, which tells whether
// these have changed. To keep the names would take more than the entry. It is
// zero if there are none.
func (q *Queue[K, V]) hashOfShares(e *Entry[K, V]) uint32 {
	if len(q.limits.shared) == 0 {
		return 0
	}
	const offset, prime = 2166136261, 16777619 // FNV-1a
	hash := uint32(offset)
	for _, b := range q.limits.shared {
		name := b.shareOf(e)
		for i := range len(name) {
			hash = (hash ^ uint32(name[i])) * prime
		}
		hash = (hash ^ '\n') * prime // ends the name
	}
	return max(hash, 1)
}

// schedule makes an entry due at a time, or at the end of its backoff.
func (q *Queue[K, V]) schedule(e *Entry[K, V], due time.Duration) {
	if e.shares == 0 { // Keep may have had a value that was not complete
		e.shares = q.hashOfShares(e)
	}
	if f, backsOff := q.backoffs[e]; backsOff {
		q.backoffs[e] = failure{f.until, due}
		due = max(due, f.until)
	}
	switch e.state {
	case idle:
		q.pending++
		q.wait(e, due)
	case waiting:
		if due != e.due {
			e.due = due
			q.timelineOf(e).move(e)
		}
	case ready:
		if due != e.due {
			q.limits.leave(e)
			q.wait(e, due)
		}
	case acting:
		q.assignOrder(e)
		e.state, e.due = changed, due
	case changed, replaced:
		q.assignOrder(e)
		e.due = due
	case out, removed:
	}
}

// unschedule removes the due time of an entry.
func (q *Queue[K, V]) unschedule(e *Entry[K, V]) {
	delete(q.backoffs, e)
	switch e.state {
	case waiting, ready:
		q.takeOut(e)
		q.makeIdle(e)
	case acting:
		e.state = changed
	case out, idle, changed, removed, replaced:
	}
	e.due, e.attempts, e.order = never, 0, 0
}

// wait puts an entry into the timeline of its kind.
func (q *Queue[K, V]) wait(e *Entry[K, V], due time.Duration) {
	q.assignOrder(e)
	e.state, e.due, e.link = waiting, due, q.kind(e)
	q.timelineOf(e).push(e)
}

// timelineOf returns the timeline of a waiting entry's kind.
func (q *Queue[K, V]) timelineOf(e *Entry[K, V]) *timeline[K, V] { return &q.waiting[e.link] }

// kind returns the number of an entry's kind.
func (q *Queue[K, V]) kind(e *Entry[K, V]) uint32 {
	if len(q.kinds) == 0 {
		return 0
	}
	return q.kindNamed(q.kindOf(e.key, e.value))
}

// kindNamed returns the number of a kind, which may be none of those told apart.
func (q *Queue[K, V]) kindNamed(name string) uint32 {
	if i, found := slices.BinarySearch(q.kinds, name); found {
		return uint32(i)
	}
	return uint32(len(q.kinds))
}

// assignOrder gives an entry its place among those due at the same time, if it
// has none: it is new or was unscheduled.
func (q *Queue[K, V]) assignOrder(e *Entry[K, V]) {
	if e.order == 0 {
		q.order = max(q.order+1, 1) // zero is none
		e.order = q.order
	}
}

// makeIdle makes an entry idle that is in no heap.
func (q *Queue[K, V]) makeIdle(e *Entry[K, V]) {
	e.state, e.due, e.attempts = idle, never, 0
	q.pending--
}

// takeOut takes an item out of the timeline or lane that it is in, and in order.
func (q *Queue[K, V]) takeOut(e *Entry[K, V]) {
	if e.state == ready {
		q.limits.leave(e)
		return
	}
	q.timelineOf(e).remove(e)
}

func (q *Queue[K, V]) remove(e *Entry[K, V]) {
	q.members--
	delete(q.backoffs, e)
	q.Vacate(e)
	switch e.state {
	case waiting, ready:
		q.takeOut(e)
		q.pending--
	case acting, changed, replaced:
		var none V
		e.state, e.value = removed, none
		q.pending--
		return
	case out, idle, removed:
	}
	q.forget(e)
}

// forget drops an entry that is in no heap and not acted on.
func (q *Queue[K, V]) forget(e *Entry[K, V]) {
	q.Vacate(e)
	delete(q.entries, e.key)
	q.freeList.giveBack(e, len(q.entries))
	if q.peak > keptWhenEmpty && len(q.entries) < min(q.peak/16, mostCopied) {
		q.shrink()
	}
}

// mostCopied bounds the keys that are copied at once to release memory: the
// caller holds a lock.
const mostCopied = 1 << 14

// shrink releases the memory of removed entries, since a map does not shrink.
// To range over a map costs as much as its largest size. So it ranges over the
// heaps, unless there are entries that are in none.
func (q *Queue[K, V]) shrink() {
	entries := make(map[K]*Entry[K, V], len(q.entries))
	if q.members != q.pending {
		maps.Copy(entries, q.entries)
	} else {
		for e := range q.all() {
			entries[e.key] = e
		}
		for _, a := range q.acting { // all does not return removed ones
			entries[a.entry.key] = a.entry
		}
	}
	q.entries, q.peak = entries, len(entries)
	backoffs := make(map[*Entry[K, V]]failure, len(q.backoffs))
	maps.Copy(backoffs, q.backoffs)
	q.backoffs = backoffs
	q.freeList, q.limits.unused = freeList[K, V]{}, nil
	q.acting = slices.Clone(q.acting)
	for i := range q.waiting {
		if q.waiting[i].len() == 0 {
			q.waiting[i].heap.release()
		}
	}
}

func (q *Queue[K, V]) member(key K) (*Entry[K, V], bool) {
	e, ok := q.entries[key]
	if !ok || !e.state.member() {
		return nil, false
	}
	return e, true
}

// describe sets what an item says of an entry.
func (q *Queue[K, V]) describe(item *Item[K, V], e *Entry[K, V]) {
	item.Key, item.Value, item.Attempts = e.key, e.value, int(e.attempts)
	if e.due != never {
		item.Due = q.clock.time(e.due)
	}
}

// applyResult applies the result of an action during which its key has not
// changed.
func (q *Queue[K, V]) applyResult(e *Entry[K, V], result *Result) {
	switch result.Outcome {
	case OutcomeDone, OutcomeSkipped:
		q.members--
		q.pending--
		q.forget(e)
	case OutcomeContinued, OutcomePostponed:
		attempts := e.attempts
		if result.Outcome == OutcomeContinued {
			attempts = 0
		}
		if result.Idle {
			q.makeIdle(e)
		} else {
			q.wait(e, q.clock.distance(result.At))
		}
		e.attempts = attempts
	default:
		q.retry(e, q.clock.now, result.RetryAfter)
	}
}

// applyLate applies the result of an action during which its key was given
// another due time, or none.
func (q *Queue[K, V]) applyLate(e *Entry[K, V], result *Result) {
	switch {
	case e.due == never:
		q.makeIdle(e)
		return
	case result.Outcome == OutcomeFailed:
		q.retry(e, e.due, result.RetryAfter)
		return
	case result.Outcome != OutcomePostponed:
		e.attempts = 0
	}
	q.wait(e, e.due)
}

// retry makes a failed entry wait until it is due, and its backoff has ended.
func (q *Queue[K, V]) retry(e *Entry[K, V], due, wait time.Duration) {
	if wait <= 0 {
		wait = q.backoff.delay(int(e.attempts))
	}
	if e.attempts < math.MaxUint16 {
		e.attempts++
	}
	until := q.clock.now + min(wait, maxWait)
	q.backoffs[e] = failure{until, due}
	q.wait(e, max(due, until))
}
