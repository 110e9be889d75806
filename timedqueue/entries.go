package timedqueue

import (
	"iter"
	"maps"
)

// entries are the entries of a queue by key.
type entries[K comparable, V any] struct {
	byKey    map[K]*Entry[K, V] // also of keys that were removed during an action
	freeList freeList[K, V]
	members  int // keys in the queue
	peak     int // the most entries since memory was last released
}

func newEntries[K comparable, V any]() entries[K, V] {
	return entries[K, V]{byKey: make(map[K]*Entry[K, V])}
}

// member returns the entry of a key that is in the queue.
func (s *entries[K, V]) member(key K) (*Entry[K, V], bool) {
	e, known := s.byKey[key]
	if !known || !e.state.member() {
		return nil, false
	}
	return e, true
}

// insert returns the entry of a key, and true if the key is new to the queue.
func (s *entries[K, V]) insert(key K, value V) (*Entry[K, V], bool) {
	e, known := s.byKey[key]
	if known && e.state.member() {
		return e, false
	}
	s.members++
	if known { // removed during an action that has not ended
		e.value, e.attempts, e.order, e.due = value, 0, 0, never
		e.state, e.shares = replaced, 0
		return e, true
	}
	e = s.freeList.take()
	e.key, e.value, e.due, e.state = key, value, never, idle
	s.byKey[key] = e
	s.peak = max(s.peak, len(s.byKey))
	return e, true
}

// removeActing removes a key during its action. Its entry is kept until then.
func (s *entries[K, V]) removeActing(e *Entry[K, V]) {
	var none V
	s.members--
	e.state, e.value = removed, none
}

// forget drops an entry that is in no heap and not acted on.
func (s *entries[K, V]) forget(e *Entry[K, V]) {
	if e.state.member() {
		s.members--
	}
	delete(s.byKey, e.key)
	s.freeList.giveBack(e, len(s.byKey))
}

// mostCopied bounds the keys that are copied at once to release memory: the
// caller holds a lock.
const mostCopied = 1 << 14

// wasteful reports whether few entries are left of many.
func (s *entries[K, V]) wasteful() bool {
	return s.peak > keptWhenEmpty && len(s.byKey) < min(s.peak/16, mostCopied)
}

// shrink releases the memory of removed entries, since a map does not shrink. To
// range over a map costs as much as its largest size. So it takes the entries
// from where they wait or act, and from the map only if some do neither.
func (s *entries[K, V]) shrink(waitOrAct iter.Seq[*Entry[K, V]]) {
	byKey := make(map[K]*Entry[K, V], len(s.byKey))
	for e := range waitOrAct {
		byKey[e.key] = e
	}
	if len(byKey) < len(s.byKey) {
		maps.Copy(byKey, s.byKey)
	}
	s.byKey, s.peak, s.freeList = byKey, len(byKey), freeList[K, V]{}
}
