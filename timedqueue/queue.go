package timedqueue

import (
	"fmt"
	"iter"
	"time"
)

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
		backoff: config.Backoff.withDefaults(),
		epoch:   now,
		before:  orderOf[K](config.Less),
		entries: make(map[K]*Entry[K, V]),
	}
	q.setKinds(config.kinds(), config.KindOf)
	for _, b := range config.Budgets {
		q.addBudget(newBudget(b))
	}
	for i := range q.kinds {
		q.kinds[i].waiting.before = q.before
		q.kinds[i].open.before = func(a, b *lane[K, V]) bool {
			return q.before(a.heap.first().element, b.heap.first().element)
		}
	}
	anyOrder := func(_, _ *share[K, V]) bool { return false }
	q.closed.before, q.idle.before = anyOrder, anyOrder
	return q, nil
}

func (q *Queue[K, V]) setKinds(names []string, kindOf func(K, V) string) {
	q.names, q.kinds = names, make([]kind[K, V], len(names)+1)
	q.kindOf = func(*Entry[K, V]) int { return 0 }
	if len(names) > 0 {
		q.kindOf = func(e *Entry[K, V]) int { return q.kindNamed(kindOf(e.key, e.value)) }
	}
}

func (q *Queue[K, V]) addBudget(b *budget[K, V]) {
	if b.ShareOf != nil {
		q.keyed = append(q.keyed, b)
		return
	}
	q.gates = append(q.gates, b)
	q.share(b, "")
	if len(b.Reserved) > 0 {
		q.reserve(b)
	}
}

// Add puts a key into the queue. When the key is there already, Add changes
// nothing and returns false. A key that was removed while it is acted on waits
// until that action ends.
func (q *Queue[K, V]) Add(key K, value V, due time.Time) bool {
	e, isNew := q.insert(key, value)
	if !isNew {
		return false
	}
	q.schedule(e, q.distance(due))
	return true
}

// SetValue replaces the value of a key, and reports whether the key is in the
// queue. The key keeps its place. An action that is under way keeps the value
// that it was started with. If the new value belongs to another share of a
// budget, that share inherits the tokens of the former one; see
// [Queue.InheritShare].
func (q *Queue[K, V]) SetValue(key K, value V) bool {
	e, ok := q.member(key)
	if !ok {
		return false
	}
	for _, b := range q.keyed {
		if from, to := b.ShareOf(key, e.value), b.ShareOf(key, value); from != to {
			q.inherit(b, to, from) // moves lanes, so e is still in order
		}
	}
	e.value = value
	q.Refile(e)
	return true
}

// Reschedule makes a key due at another time, earlier or later, and reports
// whether the key is in the queue. Among keys due at the same time it keeps the
// order of its insertion. During an action it wins over the action's result:
// the key stays, due at that time.
func (q *Queue[K, V]) Reschedule(key K, due time.Time) bool {
	e, ok := q.member(key)
	if ok {
		q.schedule(e, q.distance(due))
	}
	return ok
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
func (q *Queue[K, V]) Get(key K) (Item[K, V], bool) {
	e, ok := q.member(key)
	if !ok {
		return Item[K, V]{}, false
	}
	return q.item(e), true
}

// Len returns how many keys are in the queue.
func (q *Queue[K, V]) Len() int { return q.members }

// Pending returns how many keys have a due time or are acted on.
func (q *Queue[K, V]) Pending() int { return q.pending }

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

// Schedule is Reschedule for an entry.
func (q *Queue[K, V]) Schedule(e *Entry[K, V], due time.Time) {
	if e.state.member() {
		q.schedule(e, q.distance(due))
	}
}

// Unschedule removes an entry's due time. The entry stays in the queue, and
// loses its place by insertion and its count of failed attempts. (An entry that
// a result leaves without a due time keeps its place.) During an action
// Unschedule wins over the action's result, as Schedule does.
func (q *Queue[K, V]) Unschedule(e *Entry[K, V]) {
	if e.state.member() {
		q.schedule(e, never)
	}
}

// Drop is Remove for an entry.
func (q *Queue[K, V]) Drop(e *Entry[K, V]) {
	if e.state.member() {
		q.remove(e)
	}
}

// Refile puts an entry where it belongs after its value was changed in place.
// It must follow each change of what budgets or Less read. Unlike SetValue, it
// makes no share inherit tokens; see [Queue.InheritShare].
func (q *Queue[K, V]) Refile(e *Entry[K, V]) {
	switch e.state {
	case ready, waiting:
		q.takeOut(e)
		q.wait(e, e.due)
	case out, idle, acting, changed, removed:
	}
}

// Due returns when an entry is due, and false if it has no due time or is acted
// on.
func (q *Queue[K, V]) Due(e *Entry[K, V]) (time.Time, bool) {
	if e.state != waiting && e.state != ready {
		return time.Time{}, false
	}
	return q.time(e.due), true
}

// Acting reports whether an entry was handed out and its action has not ended.
func (q *Queue[K, V]) Acting(e *Entry[K, V]) bool { return e.state.handedOut() }

// Blocking returns the name of a budget that delays an entry, as far as that is
// known. Start may not have examined an entry that has just become due.
func (q *Queue[K, V]) Blocking(e *Entry[K, V]) (string, bool) {
	if e.state == ready {
		s := q.lanes[e.link].share
		if wait, ok := s.bucket.until(q.now); !ok || wait > 0 {
			return s.budget.Name, true
		}
	}
	if e.state == ready || e.state == waiting && e.due <= q.now {
		if gate := q.closedGate(); gate != nil {
			return gate.Name, true
		}
	}
	return "", false
}

// All returns the entries that Pending counts, in no order. The queue must not
// be changed while they are ranged over.
func (q *Queue[K, V]) All() iter.Seq[*Entry[K, V]] { return q.all() }
