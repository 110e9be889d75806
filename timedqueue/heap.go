package timedqueue

// A heap is a four-ary min-heap of elements that record their own index, so any
// of them can be moved or removed in O(log n). Four children a node halve the
// height of a binary heap. The due time stands next to the pointer, so most
// comparisons touch no element. container/heap calls back through an interface
// for each comparison and boxes each element that it pushes.
type heap[E placed] struct {
	places []place[E]
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

// keptWhenEmpty is the size up to which what is empty keeps its memory, so that
// a queue that empties and fills all the time does not allocate each time.
const keptWhenEmpty = 1024

func (h *heap[E]) precedes(p, o *place[E]) bool {
	if p.due != o.due {
		return p.due < o.due
	}
	return h.before(p.element, o.element)
}

// first returns the first place, or nil.
func (h *heap[E]) first() *place[E] {
	if len(h.places) == 0 {
		return nil
	}
	return &h.places[0]
}

func (h *heap[E]) push(due int64, element E) {
	h.places = append(h.places, place[E]{due, element})
	h.up(len(h.places) - 1)
}

// remove takes out the element at index i.
func (h *heap[E]) remove(i int) {
	var none place[E]
	last := len(h.places) - 1
	moved := h.places[last]
	h.places[last] = none
	h.places = h.places[:last]
	if cap(h.places) > keptWhenEmpty && last < cap(h.places)/8 {
		h.places = append(make([]place[E], 0, 2*last), h.places...)
	}
	if i == last {
		return
	}
	h.places[i] = moved
	if i == 0 {
		h.down(0)
		return
	}
	h.settle(i)
}

// move gives the element at index i another time.
func (h *heap[E]) move(i int, due int64) {
	h.places[i].due = due
	h.settle(i)
}

func (h *heap[E]) settle(i int) {
	if !h.up(i) {
		h.down(i)
	}
}

// up moves the element at index i towards the root and reports whether it
// moved.
func (h *heap[E]) up(i int) bool {
	rising, start := h.places[i], i
	for i > 0 {
		parent := (i - 1) / children
		if !h.precedes(&rising, &h.places[parent]) {
			break
		}
		h.put(i, h.places[parent])
		i = parent
	}
	h.put(i, rising)
	return i != start
}

// down moves the element at index i towards the leaves.
func (h *heap[E]) down(i int) {
	sinking := h.places[i]
	for {
		first := children*i + 1
		end := min(first+children, len(h.places))
		for c := first + 1; c < end; c++ {
			if h.precedes(&h.places[c], &h.places[first]) {
				first = c
			}
		}
		if first >= end || !h.precedes(&h.places[first], &sinking) {
			break
		}
		h.put(i, h.places[first])
		i = first
	}
	h.put(i, sinking)
}

func (h *heap[E]) put(i int, p place[E]) {
	h.places[i] = p
	p.element.setIndex(int32(i))
}
