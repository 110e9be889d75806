package daemon

import (
	"container/heap"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// nodeHeap is a heap of nodes, each of which knows where it is in it, so that it leaves
// in the time of a logarithm. What before compares must change only right before set: a
// heap stands it if one node is out of place, and not if several are.
type nodeHeap struct {
	nodes  []*nodeState
	before func(a, b *nodeState) bool
	slot   func(*nodeState) *int32 // where it is, from one on; zero: it is not
}

// Len, Less, Swap, Push and Pop are for package heap.
func (h *nodeHeap) Len() int           { return len(h.nodes) }
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

// first returns the node whose turn it is, or nil.
func (h *nodeHeap) first() *nodeState {
	if len(h.nodes) == 0 {
		return nil
	}
	return h.nodes[0]
}

// set puts a node in, or where it belongs now, or takes it out.
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

// queueName is a reason for a node to be in line.
type queueName int8

const (
	toCreate            queueName = iota // a pod is missing
	toDelete                             // pods have to go, whatever the rollout does
	outdatedUnavailable                  // candidates of the rollout, by candidacy
	outdatedAvailable
	toRetire
	toInsist
	numberOfQueues
)

// newQueue returns a queue in which nodes come by what Less says, and then by name. Before
// that come those that should have a pod, since a partition keeps the others to the end,
// those that are not excused, which would use up the budget for as long as they are down,
// and those to which less was refused: one that is always refused everything would keep
// the others waiting.
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

// order is what queues go by. It is a copy, which changes when the node is put where it
// belongs.
type order struct {
	object  *corev1.Node
	extra   bool // no pod should run there
	excused bool
	refused int
}

func (o *order) comesBefore(other *order, less func(a, b *corev1.Node) bool) (comes, differs bool) {
	switch {
	case o.extra != other.extra:
		return other.extra, true
	case o.excused != other.excused:
		return other.excused, true
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

// pick returns the node whose turn it is in a queue, or nil. While calls are refused it is
// any of those that are equal but for their names: nodes that are refused may be
// neighbours by name, and each of them would cost the others a hold. It looks at the whole
// queue then, which a hold keeps from happening often.
func (p *Planner) pick(from queueName, calls *flight, less func(a, b *corev1.Node) bool) *nodeState {
	picked := p.queues[from].first()
	if picked == nil || calls.refused.times == 0 {
		return picked
	}
	first, lowest := picked.order, scatter(picked.name, calls.failed)
	for _, n := range p.queues[from].nodes {
		if _, differs := n.order.comesBefore(&first, less); differs {
			continue
		}
		if number := scatter(n.name, calls.failed); number < lowest {
			picked, lowest = n, number
		}
	}
	return picked
}

// scatter returns a number for a name, of which similar names have very different ones.
// Each seed has another order. It is FNV-1a with the last step of MurmurHash3.
func scatter(name string, seed int) uint64 {
	number := uint64(14695981039346656037) + uint64(seed)
	for i := range len(name) {
		number = (number ^ uint64(name[i])) * 1099511628211
	}
	number = (number ^ number>>33) * 0xff51afd7ed558ccd
	return number ^ number>>33
}

// enqueue puts a node where its situation wants it.
func (p *Planner) enqueue(n *nodeState) {
	s := &n.situation
	if s.create == "" && !s.deletes && s.candidate == 0 && n.slots == ([numberOfQueues]int32{}) {
		return // as most nodes are, mostly
	}
	n.order = order{object: n.object, extra: !n.verdict.Run, excused: s.excused, refused: n.refused.times}
	for pod := n.pods; pod != nil; pod = pod.next {
		n.order.refused += pod.refused.times
	}
	p.queues[toCreate].set(n, s.create != "")
	p.queues[toDelete].set(n, s.deletes)
	p.queues[outdatedUnavailable].set(n, s.candidate == replaceUnavailable)
	p.queues[outdatedAvailable].set(n, s.candidate == replaceAvailable)
	p.queues[toRetire].set(n, s.candidate == retire)
	p.queues[toInsist].set(n, s.candidate == insist)
}

// newTimers returns a queue of the nodes that change by themselves, by the time.
func newTimers(now time.Time) (*timedqueue.Queue[string, *nodeState], error) {
	return timedqueue.NewQueue(timedqueue.QueueConfig[string, *nodeState]{
		Less: func(a, b *nodeState) bool { return a.name < b.name },
	}, now)
}

// setTimer makes a node due when it changes by itself.
func (p *Planner) setTimer(n *nodeState) {
	until := n.situation.until
	switch {
	case until.IsZero():
		p.timers.Remove(n.name)
	case !p.timers.Add(n.name, n, until):
		p.timers.Reschedule(n.name, until)
	}
}

// due returns a node whose time has come, and takes it out, or nil.
func (p *Planner) due() *nodeState {
	item, ok := p.timers.Start(p.now)
	if !ok {
		return nil
	}
	p.timers.Finish(p.now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
	return item.Value
}

// nextTimer returns the time of the first, or zero.
func (p *Planner) nextTimer() time.Time {
	next, _ := p.timers.Next(p.now)
	return next
}
