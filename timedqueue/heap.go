package timedqueue

// A heap is a four-ary min-heap of elements that record their own index, so any
// of them can be moved or removed in O(log n). Four children a node halve the
// height of a binary heap. The due time is next to the pointer, so most
// comparisons touch no element. container/heap would call an interface for each
// comparison and box each element that it pushes.
//
// It grows and shrinks a chunk at a time. To move a million places to a larger
// slice at once would take tens of milliseconds, under a caller's lock.
type heap[E placed] struct {
	places []place[E]   // the first chunk, as large as needed
	more   [][]place[E] // the other chunks, of which the last may be empty
	size   int
	// before orders elements with the same due time.
	before func(a, b E) bool
}

// place is an element and the time that orders it.
type place[E placed] struct {
	due     int64
	element E
}

// placed is an element that records its index in the heap.
type placed interface {
	comparable
	setIndex(int32)
}

const children = 4

// keptWhenEmpty is the size up to which an empty heap keeps its memory. A queue
// that empties and fills all the time then does not allocate each time.
const keptWhenEmpty = 1024

func (h *heap[E]) precedes(p, o *place[E]) bool {
	if p.due != o.due {
		return p.due < o.due
	}
	return h.before(p.element, o.element)
}

// chunk is how many places are moved at once.
const chunk = 1 << 13

func (h *heap[E]) len() int { return h.size }

func (h *heap[E]) at(i int) *place[E] {
	if i < chunk {
		return &h.places[i]
	}
	return &h.more[i/chunk-1][i%chunk]
}

// first returns the first place, or nil.
func (h *heap[E]) first() *place[E] {
	if h.size == 0 {
		return nil
	}
	return &h.places[0]
}

func (h *heap[E]) push(due int64, element E) {
	p := place[E]{due, element}
	if c := h.size/chunk - 1; c < 0 {
		h.places = append(h.places, p)
	} else {
		if c == len(h.more) {
			h.more = append(h.more, make([]place[E], 0, chunk))
		}
		h.more[c] = append(h.more[c], p)
	}
	h.size++
	h.up(h.size - 1)
}

// pop takes out the last place.
func (h *heap[E]) pop() place[E] {
	last := *h.at(h.size - 1)
	*h.at(h.size - 1) = place[E]{}
	h.size--
	c := h.size/chunk - 1
	if c >= 0 {
		h.more[c] = h.more[c][:h.size%chunk]
	} else {
		h.places = h.places[:h.size]
	}
	if len(h.more) > c+2 { // one empty chunk is kept
		h.more[len(h.more)-1] = nil
		h.more = h.more[:len(h.more)-1]
	}
	if cap(h.places) > keptWhenEmpty && h.size < cap(h.places)/8 {
		h.places = append(make([]place[E], 0, 2*h.size), h.places...)
		h.more = nil
	}
	return last
}

// all ranges over the elements in no order, and reports whether it came to the
// end.
func (h *heap[E]) all(yield func(E) bool) bool {
	for i := range h.size {
		if !yield(h.at(i).element) {
			return false
		}
	}
	return true
}

// release releases the memory of an empty heap.
func (h *heap[E]) release() { h.places, h.more = nil, nil }

// remove takes out the element at index i.
func (h *heap[E]) remove(i int) {
	moved := h.pop()
	if i == h.size {
		return
	}
	*h.at(i) = moved
	h.fix(i)
}

// removeOrdered is remove for an element whose order has not changed since it
// was put there. What takes its place is compared with it alone. Its neighbors
// are seldom in the processor's cache.
func (h *heap[E]) removeOrdered(i int) {
	moved := h.pop()
	if i == h.size {
		return
	}
	rises := h.precedes(&moved, h.at(i))
	*h.at(i) = moved
	if rises {
		h.up(i)
	} else {
		h.down(i)
	}
}

// move changes the time of the element at index i.
func (h *heap[E]) move(i int, due int64) {
	h.at(i).due = due
	h.fix(i)
}

func (h *heap[E]) fix(i int) {
	if !h.up(i) {
		h.down(i)
	}
}

// up moves the element at index i towards the root and reports whether it
// moved.
func (h *heap[E]) up(i int) bool {
	rising, start := *h.at(i), i
	for i > 0 {
		parent := (i - 1) / children
		if !h.precedes(&rising, h.at(parent)) {
			break
		}
		h.put(i, *h.at(parent))
		i = parent
	}
	h.put(i, rising)
	return i != start
}

// down moves the element at index i towards the leaves.
func (h *heap[E]) down(i int) {
	sinking := *h.at(i)
	for {
		first := children*i + 1
		end := min(first+children, h.size)
		for c := first + 1; c < end; c++ {
			if h.precedes(h.at(c), h.at(first)) {
				first = c
			}
		}
		if first >= end || !h.precedes(h.at(first), &sinking) {
			break
		}
		h.put(i, *h.at(first))
		i = first
	}
	h.put(i, sinking)
}

func (h *heap[E]) put(i int, p place[E]) {
	*h.at(i) = p
	p.element.setIndex(int32(i))
}
