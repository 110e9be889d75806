package model

// fifo is a first in, first out queue that does not allocate for each element.
type fifo[E any] struct {
	elements []E
	first    int
}

func (q *fifo[E]) len() int { return len(q.elements) - q.first }

func (q *fifo[E]) push(e E) {
	if q.first > len(q.elements)/2 && len(q.elements) == cap(q.elements) {
		n := copy(q.elements, q.elements[q.first:])
		clear(q.elements[n:])
		q.elements, q.first = q.elements[:n], 0
	}
	q.elements = append(q.elements, e)
}

// peek returns the first element, which is valid until the next push or pop.
func (q *fifo[E]) peek() *E { return &q.elements[q.first] }

func (q *fifo[E]) pop() E {
	var none E
	e := q.elements[q.first]
	q.elements[q.first] = none
	if q.first++; q.first == len(q.elements) {
		q.elements, q.first = q.elements[:0], 0
	}
	return e
}
