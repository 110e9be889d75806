package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/nodehealth"
)

// objects is the part that holds the records of nodes and pods. It is told
// which there are and how ready nodes are, and hands out records: by name or
// UID, by node, and all nodes in one order. It knows no other part.
type objects struct {
	nodes   map[string]*node
	ordered []*node // all nodes, to visit them in the same order each time
	pods    map[types.UID]*pod
	podsOn  map[string][]*pod // by node name, also of nodes that are not known
	// episodes counts the times that the readiness of some node has changed.
	episodes int
	// synced: all objects that existed at the start have been observed.
	synced bool
}

func newObjects() *objects {
	return &objects{
		nodes:  make(map[string]*node),
		pods:   make(map[types.UID]*pod),
		podsOn: make(map[string][]*pod),
	}
}

// addNode returns the record of a node that is new.
func (o *objects) addNode(name string) *node {
	n := &node{slot: len(o.ordered)}
	o.nodes[name] = n
	o.ordered = append(o.ordered, n)
	return n
}

// removeNode forgets a node. Another one takes its place in the order.
func (o *objects) removeNode(n *node) {
	delete(o.nodes, n.object.Name)
	last := len(o.ordered) - 1
	moved := o.ordered[last]
	o.ordered[n.slot], moved.slot = moved, n.slot
	o.ordered[last] = nil
	o.ordered = o.ordered[:last]
}

// addPod returns the record of a pod that is new.
func (o *objects) addPod(object *corev1.Pod) *pod {
	on := object.Spec.NodeName
	p := &pod{object: object, slot: len(o.podsOn[on])}
	if n, known := o.nodes[on]; known {
		p.bound = n.episode
	}
	o.pods[PodID(object)] = p
	o.podsOn[on] = append(o.podsOn[on], p)
	return p
}

// removePod forgets a pod.
func (o *objects) removePod(p *pod) {
	delete(o.pods, PodID(p.object))
	on := p.object.Spec.NodeName
	last := len(o.podsOn[on]) - 1
	moved := o.podsOn[on][last]
	o.podsOn[on][p.slot], moved.slot = moved, p.slot
	o.podsOn[on][last] = nil
	o.podsOn[on] = o.podsOn[on][:last]
	if last == 0 {
		delete(o.podsOn, on)
	}
}

// nodeOf returns the node that a pod is bound to, or nil.
func (o *objects) nodeOf(p *pod) *node { return o.nodes[p.object.Spec.NodeName] }

// setReady begins another episode when the readiness of a node has changed, and
// reports whether it has.
func (o *objects) setReady(now time.Time, n *node) (changed bool) {
	ready := nodehealth.ReadyStatus(n.object)
	if ready == n.ready {
		return false
	}
	wasNotReady := n.notReady()
	o.episodes++
	n.episode = o.episodes
	if n.ready = ready; n.notReady() && !wasNotReady {
		n.notReadySince, n.fell = o.notReadySince(now, n.object), n.episode
	}
	return true
}

// notReadySince returns since when a node is not ready. The stored time counts,
// so that a restart does not begin the timeout again.
func (o *objects) notReadySince(now time.Time, object *corev1.Node) time.Time {
	var changed *metav1.Time
	for i := range object.Status.Conditions {
		if ready := &object.Status.Conditions[i]; ready.Type == corev1.NodeReady {
			changed = &ready.LastTransitionTime
		}
	}
	return eviction.StartTime(changed, now, o.synced)
}

// pod is the record of a pod that is bound to a node, as it was observed last.
type pod struct {
	object *corev1.Pod
	slot   int // in Controller.podsOn
	// bound is the episode of its node in which it was first observed there. In
	// wanted it was last to be marked not ready, and in marked it was.
	bound, wanted, marked int
}

// needsMark reports whether a pod has to be marked not ready. A kubelet that
// reports that its node is not ready is alive and reports on its pods itself.
// So of those only pods that come later are marked, and pods whose mark has
// failed since the node was ready last, as in kube-controller-manager. Once in
// an episode is enough: a kubelet that disagrees would write the opposite for
// ever.
func needsMark(n *node, p *pod) bool {
	switch {
	case !n.notReady(), p.marked == n.episode:
		return false
	case n.ready == corev1.ConditionFalse && p.bound != n.episode && !p.owedMark(n):
		return false
	}
	for i := range p.object.Status.Conditions {
		if condition := &p.object.Status.Conditions[i]; condition.Type == corev1.PodReady {
			return condition.Status != corev1.ConditionFalse
		}
	}
	return false
}

// owedMark reports whether a pod was to be marked since its node was ready
// last, and was not.
func (p *pod) owedMark(n *node) bool { return p.wanted >= n.fell && p.marked < p.wanted }

// PodID returns what a pod is known by; see eviction.Key.ID.
func PodID(object *corev1.Pod) types.UID { return eviction.KeyOf(object).ID() }
