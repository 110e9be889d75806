package eviction

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// nodes are the nodes that are known, and the requests for others.
type nodes struct {
	byName  map[string]*node
	awaited map[string]NodeRequest // of nodes that are not known, by name
	shares  int                    // how many a node has
}

func newNodes(shares int) nodes {
	return nodes{
		byName: make(map[string]*node), awaited: make(map[string]NodeRequest), shares: shares,
	}
}

// record returns the record of a node, a new one if there is none.
func (s *nodes) record(name string) *node {
	n, known := s.byName[name]
	if !known {
		n = &node{name: name, shares: make([]string, s.shares)}
		s.byName[name] = n
	}
	return n
}

// dropUnused drops a record that says nothing any more.
func (s *nodes) dropUnused(n *node) {
	if n.state == unseen && len(n.pods) == 0 {
		delete(s.byName, n.name)
	}
}

// mostAwaited bounds the requests for nodes that are not known.
const mostAwaited = 10_000

// await keeps a request for a node that is not known, and reports whether there
// is room for it.
func (s *nodes) await(name string, request NodeRequest) bool {
	former, waits := s.awaited[name]
	switch {
	case waits && former.UID == request.UID:
		return true
	case !waits && len(s.awaited) >= mostAwaited:
		return false
	}
	s.awaited[name] = request
	return true
}

// claim gives a node the request that has waited for it, if there is one.
func (s *nodes) claim(n *node) bool {
	asked, waits := s.awaited[n.name]
	if !waits || !n.evictFor(asked) {
		return false
	}
	delete(s.awaited, n.name)
	return true
}

// node is the record of a node.
type node struct {
	name     string
	state    nodeState
	uid      types.UID
	taints   []Taint  // replaced as a whole, never changed: tasks refer to it
	held     holdSet  // besides what is held everywhere
	eviction *request // of all its pods, nil for none
	shares   []string // of the budgets by node; kept when the node is deleted
	// pods are of type entry. The compiler of Go 1.25 cannot resolve that alias
	// here, in its own cycle.
	pods    []*timedqueue.Entry[types.UID, pod]
	waiting int // pods of it that stages.waiting counts
}

// nodeState says what is known of a node:
//
//	unseen ──ObserveNode──► present      ForgetNode: back to unseen
//
// A record that is unseen and without pods is dropped.
type nodeState uint8

const (
	// unseen: only pods of it have been observed, or it was deleted.
	unseen nodeState = iota
	// present: the node was observed.
	present
)

// reset makes a node unseen, or one that nothing is known of yet.
func (n *node) reset(state nodeState, uid types.UID) {
	n.state, n.uid, n.taints, n.held, n.eviction = state, uid, nil, 0, nil
}

// evictFor takes a request if it is for this node.
func (n *node) evictFor(asked NodeRequest) bool {
	if n.state != present || asked.UID != "" && asked.UID != n.uid {
		return false
	}
	if n.eviction == nil {
		n.eviction = &request{due: asked.Since, reason: asked.Reason, while: asked.While}
	}
	return true
}

func (n *node) addPod(e *entry) {
	e.Value().slot = uint32(len(n.pods))
	n.pods = append(n.pods, e)
}

func (n *node) removePod(e *entry) {
	slot, last := e.Value().slot, len(n.pods)-1
	n.pods[slot] = n.pods[last]
	n.pods[slot].Value().slot = slot
	n.pods[last] = nil
	n.pods = n.pods[:last]
}
