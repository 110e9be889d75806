package rollout

import (
	"math/bits"

	corev1 "k8s.io/api/core/v1"
)

// need is a call that a node needs. Each has a queue of nodes.
type need uint8

const (
	needCreation  need = iota // a pod is missing
	needDeletions             // pods are to be deleted, outside of the rollout
	// needUpdate: the rollout may replace its old pod, which is not available.
	needUpdate
	// needUpdateAvailable: the rollout may replace its old pod, which is.
	needUpdateAvailable
	// needRetirement: its old pod is available, but none should run there. It is
	// deleted once enough others serve. Only with MaxSurge.
	needRetirement
	numberOfNeeds
)

func (d need) ofRollout() bool { return d >= needUpdate }

// reason returns why the rollout deletes the old pod of a node.
func (d need) reason() StepReason {
	switch d {
	case needUpdateAvailable:
		return StepOutdated
	case needRetirement:
		return StepMisscheduled
	case needCreation, needDeletions, needUpdate, numberOfNeeds:
	}
	return StepOutdatedUnavailable
}

// needs is a set of them. At most one is of the rollout.
type needs uint8

func (s needs) has(d need) bool { return s>>d&1 != 0 }

func (s *needs) add(d need) { *s |= 1 << d }

// first returns the first need, and false if there is none.
func (s needs) first() (need, bool) {
	d := need(bits.TrailingZeros8(uint8(s)))
	return d, s != 0
}

// ofRollout returns those of the rollout.
func (s needs) ofRollout() needs { return s >> needUpdate << needUpdate }

// situation is the part of an assessment that depends on one node alone.
type situation struct {
	marks   marks
	needs   needs
	again   bool // a call for it is sent again, and counts already
	ignored bool // its available pod goes after those of nodes that count
}

// candidates are the nodes that need a call, and the counts of all nodes, which
// limit a rollout. They are told the situation of each node, and say which node
// is next.
type candidates struct {
	goal   *goal
	less   func(a, b *corev1.Node) bool
	counts counts
	queues [numberOfNeeds]nodeHeap
	// ranking counts the orders that were wanted. Places in former queues do not
	// count.
	ranking  int32
	deleting *nodeState // of needDeletions, with some of its pods handed out
}

func newCandidates(goal *goal) candidates {
	c := candidates{goal: goal}
	c.rank()
	return c
}

// rank begins with empty queues in the order that the goal wants.
func (c *candidates) rank() {
	c.less = nil
	if policy := c.goal.spec.Policy; policy != nil {
		c.less = policy.Less
	}
	c.ranking++
	for i := range c.queues {
		c.queues[i] = nodeHeap{need: need(i), less: c.less}
	}
}

// put counts a node in its situation, and puts it into the queues of its needs.
func (c *candidates) put(n *nodeState, s situation) {
	if c.deleting == n {
		c.deleting = nil
	}
	c.counts.change(n.situation.marks, -1)
	c.counts.change(s.marks, 1)
	n.situation = s
	if n.ranking != c.ranking {
		n.ranking, n.slots = c.ranking, [numberOfNeeds]int32{} // those were of former queues
	}
	if s.needs == 0 && n.slots == ([numberOfNeeds]int32{}) {
		return // as are most nodes
	}
	n.order = order{
		object: n.object(), again: s.again, extra: !n.decision.shouldRun, ignored: s.ignored,
		refused: int32(n.refused.times),
	}
	for pod := n.pods; pod != nil; pod = pod.next {
		n.order.refused += int32(pod.refused.times)
	}
	for i := range c.queues {
		c.queues[i].set(n, s.needs.has(need(i)))
	}
}

// first returns the first node that needs a call, or nil.
func (c *candidates) first(d need) *nodeState {
	if len(c.queues[d].nodes) == 0 {
		return nil
	}
	return c.queues[d].nodes[0]
}

// pick returns the next node that needs a call. While calls are refused it
// ignores names, and outside of a rollout Less as well. Nodes with a fault may be
// neighbors by name, and each of them would cost the others a hold. It then
// visits the whole queue, at most once a hold.
func (c *candidates) pick(d need, calls *calls) *nodeState {
	picked := c.first(d)
	if picked == nil || calls.refused.times == 0 {
		return picked
	}
	less := c.less
	if !d.ofRollout() {
		less = nil
	}
	first, lowest := picked.order, scatter(picked.name, calls.epoch)
	for _, n := range c.queues[d].nodes {
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

// lets reports whether the limits let the rollout go on with a node now. Each
// node with which it does changes the counts that the limits bound.
func (c *candidates) lets(n *nodeState, d need) bool {
	now := c.goal.limitsFor(c.counts.of(desired))
	switch {
	case !c.partitionLets(n):
		return false
	case d == needRetirement:
		return c.counts.of(serving) > c.counts.of(desired)
	case d == needUpdate && !c.goal.spec.Strategy.Strict:
		return true
	case c.goal.surges:
		return c.surged(n) < now.Surge
	case d == needUpdate:
		return c.others(n, between) < now.Unavailable
	}
	return c.others(n, unavailable) < now.Unavailable
}

// surged returns how many nodes besides one have a second pod.
func (c *candidates) surged(n *nodeState) int {
	surged := c.others(n, surging)
	if c.goal.spec.Strategy.Strict {
		surged += c.others(n, between)
	}
	return surged
}

// others returns how many nodes besides one have a mark. The node has it if a
// call for it is sent again.
func (c *candidates) others(n *nodeState, m marks) int {
	if n.situation.marks&m != 0 {
		return c.counts.of(m) - 1
	}
	return c.counts.of(m)
}

// partitionLets reports whether the partition lets a node go on. It counts the
// nodes that should have a pod. The others keep theirs while there is a
// partition at all.
func (c *candidates) partitionLets(n *nodeState) bool {
	partition := c.goal.limitsFor(c.counts.of(desired)).Partition
	if !n.decision.shouldRun {
		return partition == 0
	}
	return c.others(n, behind) >= partition
}

// marks are the counts to which a node adds one.
type marks uint16

const (
	// Of the status.
	desired      marks = 1 << iota // it should have a pod
	current                        // and has one
	misscheduled                   // it has one and should not
	ready
	updated
	available

	// Of the rollout.
	unavailable // it has no available pod: counts against maxUnavailable
	between     // its old pod is gone, and no new one available: counts if Strict
	surging     // it has a new pod next to the old one: counts against maxSurge
	serving     // it has an available pod, wanted there or not
	behind      // its old pod is still to be replaced

	numberOfCounts = 11
)

// counts is how many nodes have each mark.
type counts [numberOfCounts]int

func (c *counts) change(m marks, by int) {
	for ; m != 0; m &= m - 1 {
		c[bits.TrailingZeros16(uint16(m))] += by
	}
}

func (c *counts) of(m marks) int { return c[bits.TrailingZeros16(uint16(m))] }
