package timedqueue

// A heap is a four-ary min-heap whose elements know where they stand, so that
// any of them can be moved or removed in O(log n). Four children a node instead
// of two halve its height; the keys stand beside the pointers, so a comparison
// touches no element. container/heap would call back through an interface for
// every comparison and box every element that it pushes.
type heap[E placed] struct {
	places []place[E]
}

// place is one element with the key that it is ordered by: due, then order.
type place[E placed] struct {
	due     int64
	order   uint64
	element E
}

// placed is an element that remembers its index in the heap.
type placed interface {
	comparable
	setIndex(int32)
}

const children = 4

func (p *place[E]) before(o *place[E]) bool {
	if p.due != o.due {
		return p.due < o.due
	}
	return p.order < o.order
}

func (h *heap[E]) push(due int64, order uint64, element E) {
	h.places = append(h.places, place[E]{due, order, element})
	h.up(len(h.places) - 1)
}

// remove takes the element at index i out.
func (h *heap[E]) remove(i int) {
	var none place[E]
	last := len(h.places) - 1
	moved := h.places[last]
	h.places[last] = none
	h.places = h.places[:last]
	if i == last {
		return
	}
	h.places[i] = moved
	h.settle(i)
}

// move gives the element at index i a new key.
func (h *heap[E]) move(i int, due int64, order uint64) {
	h.places[i].due, h.places[i].order = due, order
	h.settle(i)
}

func (h *heap[E]) settle(i int) {
	if !h.up(i) {
		h.down(i)
	}
}

// up moves the element at index i towards the root; it reports whether it moved.
func (h *heap[E]) up(i int) bool {
	rising, start := h.places[i], i
	for i > 0 {
		parent := (i - 1) / children
		if !rising.before(&h.places[parent]) {
			break
		}
		h.put(i, h.places[parent])
		i = parent
	}
	h.put(i, rising)
	return i != start
}

func (h *heap[E]) down(i int) {
	sinking := h.places[i]
	for {
		child := h.firstChild(i)
		if child < 0 || !h.places[child].before(&sinking) {
			break
		}
		h.put(i, h.places[child])
		i = child
	}
	h.put(i, sinking)
}

// firstChild returns the index of i's child that comes first, or -1.
func (h *heap[E]) firstChild(i int) int {
	first := children*i + 1
	if first >= len(h.places) {
		return -1
	}
	for c, end := first+1, min(first+children, len(h.places)); c < end; c++ {
		if h.places[c].before(&h.places[first]) {
			first = c
		}
	}
	return first
}

func (h *heap[E]) put(i int, p place[E]) {
	h.places[i] = p
	p.element.setIndex(int32(i))
}
