package virtualtime

// FIFO is a first in, first out queue that does not allocate for each element.
// The zero value is empty.
type FIFO[E any] struct {
	elements []E
	first    int
}

// Len returns how many elements there are.
func (q *FIFO[E]) Len() int { return len(q.elements) - q.first }

// Push adds an element at the end.
func (q *FIFO[E]) Push(e E) {
	if q.first > len(q.elements)/2 && len(q.elements) == cap(q.elements) {
		n := copy(q.elements, q.elements[q.first:])
		clear(q.elements[n:])
		q.elements, q.first = q.elements[:n], 0
	}
	q.elements = append(q.elements, e)
}

// Peek returns the first element, which is valid until the next Push or Pop.
func (q *FIFO[E]) Peek() *E { return &q.elements[q.first] }

// Pop takes the first element out. There must be one.
func (q *FIFO[E]) Pop() E {
	var none E
	e := q.elements[q.first]
	q.elements[q.first] = none
	if q.first++; q.first == len(q.elements) {
		q.elements, q.first = q.elements[:0], 0
	}
	return e
}
