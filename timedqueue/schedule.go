package timedqueue

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// insert returns the entry of a key, and true if the key is new to the queue.
func (q *Queue[K, V]) insert(key K, value V) (*Entry[K, V], bool) {
	e, known := q.entries[key]
	if known && e.state.member() {
		return e, false
	}
	q.members++
	if known { // removed during an action that has not ended
		e.value, e.attempts, e.order, e.due = value, 0, 0, never
		e.state = changed
		q.pending++
		return e, true
	}
	e = q.freeList.take()
	e.key, e.value, e.due, e.state = key, value, never, idle
	q.entries[key] = e
	q.peak = max(q.peak, len(q.entries))
	return e, true
}

// schedule gives an entry another due time, or none.
func (q *Queue[K, V]) schedule(e *Entry[K, V], due time.Duration) {
	switch e.state {
	case idle:
		if due == never {
			e.attempts, e.order = 0, 0
			return
		}
		q.pending++
		q.wait(e, due)
	case waiting:
		switch {
		case due == never:
			q.heapOf(e).remove(int(e.index))
			q.makeIdle(e)
			e.order = 0
		case due != e.due:
			e.due = due
			q.heapOf(e).move(int(e.index), int64(due))
		}
	case ready:
		if due == e.due {
			return
		}
		q.leaveLane(e)
		if due == never {
			q.makeIdle(e)
			e.order = 0
			return
		}
		q.wait(e, due)
	case acting, changed:
		if due == never {
			e.attempts, e.order = 0, 0
		} else {
			q.assignOrder(e)
		}
		e.state, e.due = changed, due
	case out, removed:
	}
}

// wait puts an entry into the heap by due time.
func (q *Queue[K, V]) wait(e *Entry[K, V], due time.Duration) {
	q.assignOrder(e)
	e.state, e.due, e.link = waiting, due, uint32(q.kindOf(e))
	q.heapOf(e).push(int64(due), e)
}

// heapOf returns the heap by due time of a waiting entry's kind.
func (q *Queue[K, V]) heapOf(e *Entry[K, V]) *heap[*Entry[K, V]] { return &q.kinds[e.link].waiting }

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

func (q *Queue[K, V]) remove(e *Entry[K, V]) {
	q.members--
	switch e.state {
	case waiting:
		q.heapOf(e).remove(int(e.index))
		q.pending--
	case ready:
		q.leaveLane(e)
		q.pending--
	case acting, changed:
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
	delete(q.entries, e.key)
	q.freeList.giveBack(e, len(q.entries))
	if q.peak > keptWhenEmpty && len(q.entries) < min(q.peak/8, mostCopied) {
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
		for _, e := range q.acting { // all does not return removed ones
			entries[e.key] = e
		}
	}
	q.entries, q.peak = entries, len(entries)
	q.freeList, q.grants = freeList[K, V]{}, nil
	q.acting = slices.Clone(q.acting)
	for i := range q.kinds {
		if waiting := &q.kinds[i].waiting; waiting.len() == 0 {
			waiting.release()
		}
	}
}

func (q *Queue[K, V]) all() iter.Seq[*Entry[K, V]] {
	return func(yield func(*Entry[K, V]) bool) {
		var heaps []*heap[*Entry[K, V]]
		for i := range q.kinds {
			heaps = append(heaps, &q.kinds[i].waiting)
		}
		for _, l := range q.lanes {
			if l != nil {
				heaps = append(heaps, &l.heap)
			}
		}
		for _, h := range heaps {
			for i := range h.len() {
				if !yield(h.at(i).element) {
					return
				}
			}
		}
		for _, e := range q.acting {
			if e.state.member() && !yield(e) {
				return
			}
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

func (q *Queue[K, V]) item(e *Entry[K, V]) Item[K, V] {
	item := Item[K, V]{Key: e.key, Value: e.value, Attempts: int(e.attempts)}
	if e.due != never {
		item.Due = q.time(e.due)
	}
	return item
}

// enterLane makes a due item wait for a share.
func (q *Queue[K, V]) enterLane(e *Entry[K, V], l *lane[K, V]) {
	q.takeOut(e)
	e.state, e.link = ready, l.id
	l.heap.push(int64(e.due), e)
	l.share.items++
	l.share.budget.delayed++
	q.file(l.share)
}

// keptWhenLaneEmpty is keptWhenEmpty for a lane.
const keptWhenLaneEmpty = 64

func (q *Queue[K, V]) leaveLane(e *Entry[K, V]) {
	l := q.lanes[e.link]
	l.heap.remove(int(e.index))
	l.share.items--
	l.share.budget.delayed--
	if l.heap.len() == 0 && cap(l.heap.places) > keptWhenLaneEmpty {
		l.heap.release() // most shares never have as many again
	}
	q.file(l.share)
	q.dropRemoved(l.share)
}

// takeOut takes an item out of the heap that it is in.
func (q *Queue[K, V]) takeOut(e *Entry[K, V]) {
	if e.state == ready {
		q.leaveLane(e)
		return
	}
	q.heapOf(e).remove(int(e.index))
}
