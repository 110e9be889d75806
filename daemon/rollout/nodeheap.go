package rollout

import (
	"container/heap"

	corev1 "k8s.io/api/core/v1"
)

// nodeHeap is a queue of nodes that need a call. They record their own index in
// it, so that any of them can leave it in O(log n). Call set after each change of
// what it compares: only one node may be out of place at a time.
//
// It orders nodes by less and then by name. Four criteria come first. A node for
// which a call is sent again precedes, because it counts already and may go on
// where others may not. A node that should have a pod precedes the others, which
// a partition keeps to the end. A node that counts precedes the ignored ones,
// which would use up the budget while they are down. A node with fewer refusals
// precedes, so that one with permanent refusals does not delay the others.
type nodeHeap struct {
	need  need
	less  func(a, b *corev1.Node) bool
	nodes []*nodeState
}

// set puts a node in, moves it, or takes it out.
func (h *nodeHeap) set(n *nodeState, in bool) {
	at := int(n.slots[h.need]) - 1
	switch {
	case in && at < 0:
		heap.Push(h, n)
	case in:
		heap.Fix(h, at)
	case at >= 0:
		heap.Remove(h, at)
	}
}

// Len, Less, Swap, Push and Pop are for package heap.
func (h *nodeHeap) Len() int { return len(h.nodes) }

func (h *nodeHeap) Less(i, j int) bool {
	a, b := h.nodes[i], h.nodes[j]
	if comes, differs := a.order.comesBefore(&b.order, h.less); differs {
		return comes
	}
	return a.name < b.name
}

func (h *nodeHeap) Swap(i, j int) {
	h.nodes[i], h.nodes[j] = h.nodes[j], h.nodes[i]
	h.nodes[i].slots[h.need], h.nodes[j].slots[h.need] = int32(i+1), int32(j+1)
}

func (h *nodeHeap) Push(x any) {
	n, _ := x.(*nodeState) // nothing else is pushed
	h.nodes = append(h.nodes, n)
	n.slots[h.need] = int32(len(h.nodes))
}

func (h *nodeHeap) Pop() any {
	last := len(h.nodes) - 1
	n := h.nodes[last]
	h.nodes[last] = nil
	h.nodes = h.nodes[:last]
	n.slots[h.need] = 0
	return n
}

// order is what queues compare. It is a copy that changes only when the node is
// moved.
type order struct {
	object  *corev1.Node
	again   bool // a call is to be sent again
	extra   bool // no pod should run there
	ignored bool
	refused int32
}

func (o *order) comesBefore(other *order, less func(a, b *corev1.Node) bool) (comes, differs bool) {
	switch {
	case o.again != other.again:
		return o.again, true
	case o.extra != other.extra:
		return other.extra, true
	case o.ignored != other.ignored:
		return other.ignored, true
	case o.refused != other.refused:
		return o.refused < other.refused, true
	case (o.object == nil) != (other.object == nil): // one that is gone comes last
		return o.object != nil, true
	case less == nil, o.object == nil:
		return false, false
	case less(o.object, other.object):
		return true, true
	}
	return false, less(other.object, o.object)
}
