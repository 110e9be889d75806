package timedqueue

// Occupy makes an entry count for MaxActing until Vacate, whether it acts or
// not. It is for work that goes on after its action, such as a pod that was
// evicted and has yet to terminate. It waits for no free slot. Refile moves its
// slots. An entry that is to act again needs others, so vacate it first.
func (q *Queue[K, V]) Occupy(e *Entry[K, V]) {
	if _, does := q.occupied[e]; !does && e.state.member() {
		q.occupied[e] = q.limits.occupy(e)
	}
}

// Occupied reports whether an entry counts for MaxActing since Occupy.
func (q *Queue[K, V]) Occupied(e *Entry[K, V]) bool {
	_, does := q.occupied[e]
	return does
}

// Vacate ends what Occupy began. An entry that is removed is vacated.
func (q *Queue[K, V]) Vacate(e *Entry[K, V]) {
	if g, does := q.occupied[e]; does {
		delete(q.occupied, e)
		q.limits.settle(g, false)
	}
}
