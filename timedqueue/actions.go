package timedqueue

import "slices"

// actions are the actions under way on the entries of a queue.
type actions[K comparable, V any] struct {
	underWay []action[K, V] // by the index of their entries
	starts   uint32
}

// An action is that on an entry which was handed out.
type action[K comparable, V any] struct {
	entry *Entry[K, V]
	grant *grant[K, V] // nil if no token was taken
}

// begin hands out an entry that is in no heap.
func (s *actions[K, V]) begin(e *Entry[K, V], g *grant[K, V]) {
	s.starts++
	e.state, e.link, e.index = acting, s.starts, int32(len(s.underWay))
	s.underWay = append(s.underWay, action[K, V]{e, g})
}

// has reports whether the action that began with a start is under way.
func (s *actions[K, V]) has(e *Entry[K, V], start uint32) bool {
	return e != nil && e.state.handedOut() && e.link == start &&
		int(e.index) < len(s.underWay) && s.underWay[e.index].entry == e
}

// end ends the action on an entry and returns the tokens that it has.
func (s *actions[K, V]) end(e *Entry[K, V]) *grant[K, V] {
	g := s.underWay[e.index].grant
	last := len(s.underWay) - 1
	moved := s.underWay[last]
	s.underWay[e.index], moved.entry.index = moved, e.index
	s.underWay[last] = action[K, V]{}
	s.underWay = s.underWay[:last]
	return g
}

// all ranges over the entries, also those of removed keys, and reports whether
// it came to the end.
func (s *actions[K, V]) all(yield func(*Entry[K, V]) bool) bool {
	for _, a := range s.underWay {
		if !yield(a.entry) {
			return false
		}
	}
	return true
}

// shrink releases memory.
func (s *actions[K, V]) shrink() { s.underWay = slices.Clone(s.underWay) }
