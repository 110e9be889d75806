package timedqueue

// slots are the entries of a queue that count for MaxActing although they need
// not act; see [Queue.Occupy].
type slots[K comparable, V any] struct {
	limits *limits[K, V]
	grants map[*Entry[K, V]]*grant[K, V]
}

func newSlots[K comparable, V any](m *limits[K, V]) slots[K, V] {
	return slots[K, V]{m, make(map[*Entry[K, V]]*grant[K, V])}
}

func (s *slots[K, V]) occupied(e *Entry[K, V]) bool {
	_, does := s.grants[e]
	return does
}

func (s *slots[K, V]) occupy(e *Entry[K, V]) {
	if !s.occupied(e) {
		s.grants[e] = s.limits.occupy(e)
	}
}

func (s *slots[K, V]) vacate(e *Entry[K, V]) {
	if g, does := s.grants[e]; does {
		delete(s.grants, e)
		s.limits.settle(g, false)
	}
}

// refile takes the slots that an entry needs after its value was changed.
func (s *slots[K, V]) refile(e *Entry[K, V]) {
	if s.occupied(e) {
		s.vacate(e)
		s.occupy(e)
	}
}
