package virtualtime

import "time"

// event is something planned. Events of the same time happen in the order in
// which they were planned.
type event struct {
	at       time.Duration
	sequence uint64
	do       func()
}

func (e *event) before(other *event) bool {
	return e.at < other.at || e.at == other.at && e.sequence < other.sequence
}

// eventHeap is a heap of events. It is not container/heap, which would allocate
// for each event: a run of an hour has millions. Four children a node make it
// half as deep as two, which is what counts when most of it is not in the
// cache.
type eventHeap []event

const children = 4

func (h *eventHeap) push(e event) {
	events := append(*h, e)
	*h = events
	i := len(events) - 1
	for i > 0 {
		parent := (i - 1) / children
		if !e.before(&events[parent]) {
			break
		}
		events[i] = events[parent]
		i = parent
	}
	events[i] = e
}

func (h *eventHeap) pop() event {
	events := *h
	first := events[0]
	last := events[len(events)-1]
	events[len(events)-1] = event{}
	events = events[:len(events)-1]
	*h = events
	if len(events) > 0 {
		events.sink(last)
	}
	return first
}

// sink puts an event where it belongs, from the top down.
func (h eventHeap) sink(e event) {
	i := 0
	for {
		least := i*children + 1
		if least >= len(h) {
			break
		}
		for child := least + 1; child < min(i*children+1+children, len(h)); child++ {
			if h[child].before(&h[least]) {
				least = child
			}
		}
		if !h[least].before(&e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}
