package rollout

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Nodes holds the nodes of a cluster for any number of planners, so that each
// node is stored once and observed once. [Config] names it. The zero value is a
// store without nodes. It must not be copied.
//
// A planner keeps a record only of a node that should have its pod or still has
// one. A change of a node costs those planners one evaluation. The others
// evaluate only the placement, and only if the labels or taints have changed.
//
// Nodes is not safe for concurrent use. It and all its planners belong under
// one lock: that of one [timedqueue.Dispatcher], whose core composes the
// planners, for example with [timedqueue.RoundRobin].
type Nodes struct {
	byName  map[string]*storedNode
	all     []*storedNode
	members []*knowledge // of the planners
	changed []*knowledge // that Changed returns
	leaving []*knowledge // those that were closed and have records left
	joined  int          // how many planners have joined
}

// storedNode is a node and the records that planners keep of it.
type storedNode struct {
	object *corev1.Node
	index  int           // in Nodes.all
	states []*nodeState  // in the order of their planners' ids
	one    [1]*nodeState // memory for states; most stores have one planner
}

// Observe records a node as it is now and informs the planners. It keeps the
// pointer; the node must not be changed afterwards.
func (s *Nodes) Observe(now time.Time, node *corev1.Node) {
	s.detachSome(detachedPerChange)
	stored := s.byName[node.Name]
	if stored != nil && len(s.members) > 1 && placedAlike(stored.object, node) {
		stored.object = node
		for _, n := range stored.states {
			if !n.owner.closed() {
				n.owner.observeState(now, n)
			}
		}
		return
	}
	if stored == nil {
		stored = &storedNode{index: len(s.all)}
		stored.states = stored.one[:0]
		s.all = append(s.all, stored)
		if s.byName == nil {
			s.byName = make(map[string]*storedNode)
		}
		s.byName[node.Name] = stored
	}
	stored.object = node
	for _, k := range s.members {
		k.observeNode(now, stored)
	}
}

// Forget records that a node is gone and informs the planners.
func (s *Nodes) Forget(now time.Time, name string) {
	s.detachSome(detachedPerChange)
	stored := s.byName[name]
	if stored == nil {
		return
	}
	delete(s.byName, name)
	last := len(s.all) - 1
	s.all[stored.index] = s.all[last]
	s.all[stored.index].index = stored.index
	s.all[last] = nil
	s.all = s.all[:last]
	for _, n := range stored.states {
		if n.owner.closed() {
			n.stored = nil
			continue
		}
		n.owner.forgetNode(now, n)
	}
}

// Changed returns [Config].Owner of each planner that has got nodes to evaluate
// since the last call, in the order of the changes. A caller with many planners
// then evaluates only these. The cost is that of the planners returned.
func (s *Nodes) Changed() []types.UID {
	owners := make([]types.UID, len(s.changed))
	for i, k := range s.changed {
		owners[i], k.reported = k.set, false
	}
	clear(s.changed)
	s.changed = s.changed[:0]
	return owners
}

// Len returns how many nodes there are.
func (s *Nodes) Len() int { return len(s.all) }

func (s *Nodes) join(k *knowledge) {
	s.joined++
	k.index, k.id = len(s.members), s.joined
	s.members = append(s.members, k)
}

// leave removes a planner. Its records are detached by detachSome.
func (s *Nodes) leave(k *knowledge) {
	if k.closed() {
		return
	}
	last := len(s.members) - 1
	s.members[k.index] = s.members[last]
	s.members[k.index].index = k.index
	s.members[last] = nil
	s.members = s.members[:last]
	k.index = departed
	s.changed = slices.DeleteFunc(s.changed, func(other *knowledge) bool { return other == k })
	s.leaving = append(s.leaving, k)
	s.detachSome(detachedAtOnce)
}

const (
	// detachedAtOnce is how many records of a planner go when it leaves.
	detachedAtOnce = 1000
	// detachedPerChange is how many of the others go with each change of a node.
	detachedPerChange = 100
)

// detachSome detaches records of planners that have left. A planner may have
// records of all nodes, so they go in slices.
func (s *Nodes) detachSome(most int) {
	for ; most > 0 && len(s.leaving) > 0; most-- {
		k := s.leaving[len(s.leaving)-1]
		last := len(k.states) - 1
		if last < 0 {
			s.leaving[len(s.leaving)-1] = nil
			s.leaving = s.leaving[:len(s.leaving)-1]
			continue
		}
		k.states[last].detach()
		k.states[last], k.states = nil, k.states[:last]
	}
}

// placedAlike reports whether each placement decides alike for two versions of
// a node. A placement reads the name, the labels and the taints.
func placedAlike(a, b *corev1.Node) bool {
	return maps.Equal(a.Labels, b.Labels) &&
		slices.EqualFunc(a.Spec.Taints, b.Spec.Taints, func(a, b corev1.Taint) bool {
			return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect
		})
}

// stateOf returns the record that a planner keeps of a node, or nil.
func (n *storedNode) stateOf(k *knowledge) *nodeState {
	if len(n.states) == 1 && n.states[0].owner == k { // as with one planner
		return n.states[0]
	}
	if at, found := n.search(k); found {
		return n.states[at]
	}
	return nil
}

func (n *storedNode) search(k *knowledge) (int, bool) {
	return slices.BinarySearchFunc(n.states, k.id, func(n *nodeState, id int) int {
		return cmp.Compare(n.owner.id, id)
	})
}
