package rollout

import (
	"container/heap"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// queueName is a queue of nodes, named after the call that they need.
type queueName uint8

const (
	toCreate            queueName = iota // a pod is missing
	toDelete                             // pods are to be deleted, outside of the rollout
	outdatedUnavailable                  // candidates of the rollout, by candidacy
	outdatedAvailable
	toRetire
	numberOfQueues
)

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

// situation is the part of an evaluation that depends on one node alone.
type situation struct {
	marks     marks
	create    bool // a pod is to be created, because it is missing
	deletes   bool // pods of it are to be deleted: those with a reason to leave
	redeletes bool // the deletion of one of them is sent again
	again     bool // a call for it is sent again, and counts already
	ignored   bool // its available pod goes after those of nodes that count
	candidate candidacy
	until     time.Time // when it changes by itself; zero: never
}

// candidacy is what a rollout may do with a node.
type candidacy uint8

const (
	noCandidate candidacy = iota
	// replaceUnavailable: its old pod is not available.
	replaceUnavailable
	// replaceAvailable: its old pod is available.
	replaceAvailable
	// retire: its old pod is available, but none should run there. It is deleted
	// once enough others serve. Only with MaxSurge.
	retire
)

// reason returns why the old pod of a candidate is deleted.
func (c candidacy) reason() StepReason {
	switch c {
	case replaceAvailable:
		return StepOutdated
	case retire:
		return StepMisscheduled
	case noCandidate, replaceUnavailable:
	}
	return StepOutdatedUnavailable
}

// Len, Less, Swap, Push and Pop are for package heap.
func (h *nodeHeap) Len() int { return len(h.nodes) }

func (h *nodeHeap) Less(i, j int) bool { return h.before(h.nodes[i], h.nodes[j]) }

func (h *nodeHeap) Swap(i, j int) {
	h.nodes[i], h.nodes[j] = h.nodes[j], h.nodes[i]
	*h.slot(h.nodes[i]), *h.slot(h.nodes[j]) = int32(i+1), int32(j+1)
}

func (h *nodeHeap) Push(x any) {
	n, _ := x.(*nodeState) // nothing else is pushed
	h.nodes = append(h.nodes, n)
	*h.slot(n) = int32(len(h.nodes))
}

func (h *nodeHeap) Pop() any {
	last := len(h.nodes) - 1
	n := h.nodes[last]
	h.nodes[last] = nil
	h.nodes = h.nodes[:last]
	*h.slot(n) = 0
	return n
}

// first returns the first node, or nil.
func (h *nodeHeap) first() *nodeState {
	if len(h.nodes) == 0 {
		return nil
	}
	return h.nodes[0]
}

// set puts a node in, moves it, or takes it out.
func (h *nodeHeap) set(n *nodeState, in bool) {
	at := int(*h.slot(n)) - 1
	switch {
	case in && at < 0:
		heap.Push(h, n)
	case in:
		heap.Fix(h, at)
	case at >= 0:
		heap.Remove(h, at)
	}
}

// newQueue returns a queue that orders nodes by less and then by name. Four
// criteria come first. A node for which a call is sent again precedes, because it
// counts already and may go on where others may not. A node that should have a pod precedes the others, which
// a partition keeps to the end. A node that counts precedes the ignored ones,
// which would use up the budget while they are down. A node with fewer refusals
// precedes, so that one with permanent refusals does not delay the others.
func newQueue(which queueName, less func(a, b *corev1.Node) bool) nodeHeap {
	return nodeHeap{
		slot: func(n *nodeState) *int32 { return &n.slots[which] },
		before: func(a, b *nodeState) bool {
			if comes, differs := a.order.comesBefore(&b.order, less); differs {
				return comes
			}
			return a.name < b.name
		},
	}
}

// pick returns the next node of a queue. While calls are refused it ignores
// names. Nodes with a fault may be neighbors by name, and each of them would
// cost the others a hold. It then visits the whole queue, at most once a hold.
func (p *Planner) pick(from queueName, calls *calls, less func(a, b *corev1.Node) bool) *nodeState {
	picked := p.queues[from].first()
	if picked == nil || calls.refused.times == 0 {
		return picked
	}
	first, lowest := picked.order, scatter(picked.name, calls.epoch)
	for _, n := range p.queues[from].nodes {
		if _, differs := n.order.comesBefore(&first, less); differs {
			continue
		}
		if number := scatter(n.name, calls.epoch); number < lowest {
			picked, lowest = n, number
		}
	}
	return picked
}

// scatter returns a number for a name. Similar names have very different
// numbers, and each seed has another order. It is FNV-1a with the last step of
// MurmurHash3.
func scatter(name string, seed int32) uint64 {
	number := uint64(14695981039346656037) + uint64(seed)
	for i := range len(name) {
		number = (number ^ uint64(name[i])) * 1099511628211
	}
	number = (number ^ number>>33) * 0xff51afd7ed558ccd
	return number ^ number>>33
}

// enqueue puts a node into the queues of its situation.
func (p *Planner) enqueue(n *nodeState) {
	s := &n.situation
	if n.ranking != p.ranking {
		n.ranking, n.slots = p.ranking, [numberOfQueues]int32{} // those were of former queues
	}
	if !s.create && !s.deletes && s.candidate == noCandidate &&
		n.slots == ([numberOfQueues]int32{}) {
		return // as are most nodes
	}
	n.order = order{
		object: n.object(), again: s.again, extra: !n.decision.shouldRun, ignored: s.ignored,
		refused: int32(n.refused.times),
	}
	for pod := n.pods; pod != nil; pod = pod.next {
		n.order.refused += int32(pod.refused.times)
	}
	p.queues[toCreate].set(n, s.create)
	p.queues[toDelete].set(n, s.deletes)
	p.queues[outdatedUnavailable].set(n, s.candidate == replaceUnavailable)
	p.queues[outdatedAvailable].set(n, s.candidate == replaceAvailable)
	p.queues[toRetire].set(n, s.candidate == retire)
}

// newTimers returns a queue of the nodes that change with time.
func newTimers(now time.Time) (*timedqueue.Queue[string, *nodeState], error) {
	return timedqueue.NewQueue(timedqueue.QueueConfig[string, *nodeState]{
		Less: func(a, b *nodeState) bool { return a.name < b.name },
	}, now)
}

// setTimer makes a node due when its situation changes with time. Timed says
// that it may be in the queue already.
func (p *Planner) setTimer(n *nodeState, timed bool) {
	until := n.situation.until
	switch {
	case until.IsZero() && !timed: // as are most nodes
	case until.IsZero():
		p.timers.Remove(n.name)
	default:
		p.timers.Set(n.name, n, until)
	}
}

// due removes and returns a node that is due, or nil.
func (p *Planner) due() *nodeState {
	item, ok := p.timers.Start(p.now)
	if !ok {
		return nil
	}
	p.timers.Finish(p.now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
	return item.Value
}

// nextTimer returns when the first node is due, or zero.
func (p *Planner) nextTimer() time.Time {
	next, _ := p.timers.Next(p.now)
	return next
}

// nodeHeap is a heap of nodes that record their own index, so that any of them
// can leave it in O(log n). Call set after each change of what before compares:
// only one node may be out of place at a time.
type nodeHeap struct {
	nodes  []*nodeState
	before func(a, b *nodeState) bool
	slot   func(*nodeState) *int32 // the index, from one on; zero: it is not in it
}
