package scheduling

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/scheduler/fit"
	"github.com/kubelife/lifecycle/nodehealth/observer"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A Scheduler finds nodes for pods; see the package comment. It is not safe for
// concurrent use: a timedqueue.Dispatcher is its lock.
type Scheduler struct {
	config  Config
	nodes   map[string]*node // also those that only a pod names
	pods    map[types.UID]*pod
	sets    map[string]fit.DaemonSet
	budgets map[string]*budget
	// wanting are the pods that a changed node may help: waiting or busy.
	wanting map[types.UID]*pod
	changed []*node // since the last look at wanting
	// excluding are the pods on nodes that keep others out of their topology.
	excluding map[types.UID]*pod
	// exclusions rises with each change of excluding and of the labels of their
	// nodes.
	exclusions uint64

	health    *observer.Tracker
	seen      *observer.View // of health
	suspended bool           // every zone is fully disrupted

	// active holds the pods whose turn it is, all due since began so that only
	// their order counts. timers holds those that back off or are assumed.
	active, timers *timedqueue.Queue[types.UID, *pod]
	began          time.Time
	evictions      *eviction.Tracker
	synced         bool
}

// A budget is a PodDisruptionBudget.
type budget struct {
	namespace string
	selector  labels.Selector
	allowed   int32
}

func (b *budget) covers(object *corev1.Pod) bool {
	return b.namespace == object.Namespace && b.selector.Matches(labels.Set(object.Labels))
}

// enter puts a pod into a phase. It is the only function that does.
func (s *Scheduler) enter(p *pod, next phase) {
	p.phase = next
	if next == waiting || next == busy {
		s.wanting[p.id] = p
	} else {
		delete(s.wanting, p.id)
	}
	s.timers.Remove(p.id)
	if next == pending {
		s.active.Add(p.id, p, s.began)
	} else {
		s.active.Remove(p.id)
	}
}

// nodeOf returns the record of a node, which may not be known yet.
func (s *Scheduler) nodeOf(name string) *node {
	n := s.nodes[name]
	if n == nil {
		n = newNode(name)
		s.nodes[name] = n
	}
	return n
}

// touch notes that a node has changed, so that pods may fit that did not.
func (s *Scheduler) touch(n *node) {
	if !n.changed {
		n.changed = true
		s.changed = append(s.changed, n)
	}
}

func (s *Scheduler) touchAll() {
	for _, n := range s.nodes {
		s.touch(n)
	}
}

// moved follows up that a node has come, gone or changed its labels. All nodes
// have changed if its pods keep others out of their topology. Before MarkSynced
// all nodes have changed in any case.
func (s *Scheduler) moved(n *node) {
	for id := range n.pods {
		if s.excluding[id] != nil {
			s.exclusions++
			if s.synced {
				s.touchAll()
			}
			return
		}
	}
}

// put makes a pod count on a node, and lift makes it count nowhere.
func (s *Scheduler) put(p *pod, n *node) {
	s.lift(p)
	p.on = n
	n.pods[p.id] = p
	n.used.Add(p.Requests, 1)
	s.touch(n)
	if p.Excludes() {
		s.excluding[p.id] = p
		s.exclusions++
	}
}

func (s *Scheduler) lift(p *pod) {
	if n := p.on; n != nil {
		p.on = nil
		delete(n.pods, p.id)
		n.used.Add(p.Requests, -1)
		s.drop(n)
	}
	if s.excluding[p.id] != nil {
		delete(s.excluding, p.id)
		s.exclusions++
		s.touchAll()
	}
}

// drop forgets a node that is not known and that no pod names.
func (s *Scheduler) drop(n *node) {
	s.touch(n)
	if n.object == nil && len(n.pods) == 0 && len(n.nominees) == 0 && s.nodes[n.name] == n {
		delete(s.nodes, n.name)
	}
}

// nominate reserves room on a node for a pod whose victims are to leave it. It
// ends another nomination.
func (s *Scheduler) nominate(now time.Time, p *pod, n *node, victims []*pod) {
	if p.nominated != n {
		s.release(now, p)
	}
	p.nominated = n
	n.nominees[p.id] = p
	for _, v := range victims {
		if v.preemptor != nil {
			delete(v.preemptor.victims, v.id)
		}
		v.preemptor = p
		p.victims[v.id] = v
	}
	s.touch(n)
}

// release ends the nomination of a pod: those of its victims stay that have not
// begun to leave.
func (s *Scheduler) release(now time.Time, p *pod) {
	for id, v := range p.victims {
		s.evictions.CancelPodEviction(now, id)
		v.preemptor, v.refused = nil, false
	}
	clear(p.victims)
	if n := p.nominated; n != nil {
		p.nominated = nil
		delete(n.nominees, p.id)
		s.drop(n)
	}
}

func budgetOf(object *policyv1.PodDisruptionBudget, selector labels.Selector) *budget {
	b := &budget{namespace: object.Namespace, selector: selector, allowed: object.Status.DisruptionsAllowed}
	if object.Status.ObservedGeneration < object.Generation {
		b.allowed = 0 // the API server refuses until the status is up to date
	}
	return b
}
