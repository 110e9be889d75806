package timedqueue

import (
	"slices"
	"time"
)

// A timeline holds the waiting entries of one kind by due time.
//
// Most keys are given the same delay again and again: none, a grace period, or
// the term of a lease. Such an entry comes after all others. It goes to the end
// of a list, where to add, move and remove it costs O(1), and to start it costs
// no search. An entry that does not come last goes into a heap.
type timeline[K comparable, V any] struct {
	heap       heap[*Entry[K, V]]
	head, tail *Entry[K, V] // of the list
	listed     int
}

// inList is the index of an entry that is in the list.
const inList = -1

func newTimeline[K comparable, V any](before func(a, b *Entry[K, V]) bool) timeline[K, V] {
	return timeline[K, V]{heap: heap[*Entry[K, V]]{before: before}}
}

func (l *timeline[K, V]) len() int { return l.listed + l.heap.len() }

// first returns the first entry, or nil.
func (l *timeline[K, V]) first() *Entry[K, V] {
	p := l.heap.first()
	if p == nil || l.head != nil && l.precedes(l.head, p.element) {
		return l.head
	}
	return p.element
}

func (l *timeline[K, V]) precedes(a, b *Entry[K, V]) bool {
	if a.due != b.due {
		return a.due < b.due
	}
	return l.heap.before(a, b)
}

func (l *timeline[K, V]) push(e *Entry[K, V]) {
	if l.tail != nil && l.precedes(e, l.tail) {
		l.heap.push(int64(e.due), e)
		return
	}
	e.index, e.previous = inList, l.tail
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
	l.listed++
}

// remove takes out an entry whose order has not changed since it was put here.
func (l *timeline[K, V]) remove(e *Entry[K, V]) {
	if e.index == inList {
		l.unlink(e)
	} else {
		l.heap.removeOrdered(int(e.index))
	}
}

// move puts an entry, which may come earlier or later than before, where it
// belongs.
func (l *timeline[K, V]) move(e *Entry[K, V]) {
	switch {
	case e.index != inList:
		l.heap.move(int(e.index), int64(e.due))
	case e.previous != nil && l.precedes(e, e.previous), e.next != nil && l.precedes(e.next, e):
		l.unlink(e)
		l.push(e)
	}
}

// unlink takes an entry out of the list.
func (l *timeline[K, V]) unlink(e *Entry[K, V]) {
	if e.previous == nil {
		l.head = e.next
	} else {
		e.previous.next = e.next
	}
	if e.next == nil {
		l.tail = e.previous
	} else {
		e.next.previous = e.previous
	}
	e.previous, e.next = nil, nil
	l.listed--
}

// all ranges over the entries in no order, and reports whether it came to the
// end.
func (l *timeline[K, V]) all(yield func(*Entry[K, V]) bool) bool {
	for e := l.head; e != nil; e = e.next {
		if !yield(e) {
			return false
		}
	}
	return l.heap.all(yield)
}

// timelines hold the waiting entries of a queue by their kind of work.
type timelines[K comparable, V any] struct {
	byKind []timeline[K, V] // the last is that of all other kinds
	kinds  []string         // in order
	kindOf func(K, V) string
	order  uint32 // the last place by insertion that was given
}

func newTimelines[K comparable, V any](
	config QueueConfig[K, V], before func(a, b *Entry[K, V]) bool,
) timelines[K, V] {
	t := timelines[K, V]{kinds: config.kinds(), kindOf: config.KindOf}
	for range len(t.kinds) + 1 {
		t.byKind = append(t.byKind, newTimeline(before))
	}
	return t
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

// assignOrder gives an entry its place among those due at the same time, if it
// has none: it is new or was unscheduled.
func (t *timelines[K, V]) assignOrder(e *Entry[K, V]) {
	if e.order == 0 {
		t.order = max(t.order+1, 1) // zero is none
		e.order = t.order
	}
}

// push makes an entry wait until it is due.
func (t *timelines[K, V]) push(e *Entry[K, V], due time.Duration) {
	t.assignOrder(e)
	e.state, e.due, e.link = waiting, due, t.kind(e)
	t.byKind[e.link].push(e)
}

// move changes the due time of a waiting entry.
func (t *timelines[K, V]) move(e *Entry[K, V], due time.Duration) {
	e.due = due
	t.byKind[e.link].move(e)
}

// refile puts a waiting entry where it belongs after its value was changed.
func (t *timelines[K, V]) refile(e *Entry[K, V]) {
	t.byKind[e.link].move(e)
	if t.kind(e) != e.link {
		t.remove(e)
		t.push(e, e.due)
	}
}

// remove takes out a waiting entry whose order has not changed since it was put
// here.
func (t *timelines[K, V]) remove(e *Entry[K, V]) { t.byKind[e.link].remove(e) }

// kind returns the number of an entry's kind.
func (t *timelines[K, V]) kind(e *Entry[K, V]) uint32 {
	if len(t.kinds) == 0 {
		return 0
	}
	return t.kindNamed(t.kindOf(e.key, e.value))
}

// kindNamed returns the number of a kind, which may be none of those told apart.
func (t *timelines[K, V]) kindNamed(name string) uint32 {
	if i, found := slices.BinarySearch(t.kinds, name); found {
		return uint32(i)
	}
	return uint32(len(t.kinds))
}

// all ranges over the entries in no order, and reports whether it came to the
// end.
func (t *timelines[K, V]) all(yield func(*Entry[K, V]) bool) bool {
	for i := range t.byKind {
		if !t.byKind[i].all(yield) {
			return false
		}
	}
	return true
}

// shrink releases the memory of empty timelines.
func (t *timelines[K, V]) shrink() {
	for i := range t.byKind {
		if t.byKind[i].len() == 0 {
			t.byKind[i].heap.release()
		}
	}
}

// earliest returns when the first entry of some timelines is due, or never.
func earliest[K comparable, V any](of []timeline[K, V]) time.Duration {
	due := never
	for i := range of {
		if first := of[i].first(); first != nil {
			due = min(due, first.due)
		}
	}
	return due
}
