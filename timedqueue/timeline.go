package timedqueue

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
