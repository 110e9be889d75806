package scheduling

import (
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/scheduler/fit"
	"github.com/kubelife/lifecycle/nodehealth"
)

// ObserveNode takes a node as it is now.
func (s *Scheduler) ObserveNode(now time.Time, object *corev1.Node) {
	s.health.ObserveNode(now, object)
	s.evictions.ObserveNode(now, object)
	n := s.nodeOf(object.Name)
	before := n.object
	n.object = object
	if before == nil || !reflect.DeepEqual(before.Labels, object.Labels) {
		s.moved(n)
	}
	if before == nil || before.UID != object.UID || !reflect.DeepEqual(before.Labels, object.Labels) ||
		!reflect.DeepEqual(before.Spec, object.Spec) || nodehealth.ReadyStatus(before) != nodehealth.ReadyStatus(object) ||
		!reflect.DeepEqual(before.Status.Allocatable, object.Status.Allocatable) {
		n.allocatable = fit.AmountsOf(object.Status.Allocatable)
		s.touch(n)
	}
}

// ForgetNode drops a node that was deleted.
func (s *Scheduler) ForgetNode(now time.Time, name string) {
	s.health.ForgetNode(now, name)
	s.evictions.ForgetNode(now, name)
	if n := s.nodes[name]; n != nil {
		n.object = nil
		s.moved(n)
		s.drop(n)
	}
}

// ObserveLease takes a lease of the namespace kube-node-lease.
func (s *Scheduler) ObserveLease(now time.Time, lease *coordinationv1.Lease) {
	s.health.ObserveLease(now, lease)
}

// ForgetLease drops a lease that was deleted.
func (s *Scheduler) ForgetLease(now time.Time, name string) { s.health.ForgetLease(now, name) }

// Answered says that the API server has answered a write that was sent at a
// time, so that heartbeats are heard; see [nodehealth.Monitor.Answered].
func (s *Scheduler) Answered(now, sent time.Time) { s.health.Answered(now, sent) }

// Unanswered says that such a write has failed; see
// [nodehealth.Monitor.Unanswered].
func (s *Scheduler) Unanswered(now time.Time) { s.health.Unanswered(now) }

// ObservePod takes a pod as it is now. Pods that are another scheduler's count
// on their nodes.
func (s *Scheduler) ObservePod(now time.Time, object *corev1.Pod) {
	id := eviction.KeyOf(object).ID()
	p := s.pods[id]
	switch {
	case eviction.IsTerminal(object):
		s.ForgetPod(now, id) // its resources are free
		return
	case object.Spec.NodeName == "" && p != nil && p.phase == placed:
		return // older than a live read
	case object.Spec.NodeName == "" && object.Spec.SchedulerName != s.config.SchedulerName:
		return
	}
	s.evictions.ObservePod(now, object)
	if p == nil {
		s.add(now, newPod(object, now))
		return
	}
	if object.Spec.NodeName != "" {
		s.settle(now, p, object)
		return
	}
	before := p.object
	if p.on == nil {
		p.read(object)
	} else {
		p.object = object // what it takes of its node stays as it was assumed
	}
	if !reflect.DeepEqual(before.Spec, object.Spec) || !reflect.DeepEqual(before.Labels, object.Labels) {
		s.wake(p)
	}
	if !p.wanted() && p.on == nil {
		s.release(now, p)
	}
}

// add takes a pod that was not known.
func (s *Scheduler) add(now time.Time, p *pod) {
	s.pods[p.id] = p
	if p.object.Spec.NodeName != "" {
		s.settle(now, p, p.object)
		return
	}
	s.enter(p, waiting)
	if name := p.object.Status.NominatedNodeName; name != "" {
		s.nominate(now, p, s.nodeOf(name), nil)
	}
	s.wake(p)
}

// settle puts a pod on the node that it has for sure.
func (s *Scheduler) settle(now time.Time, p *pod, object *corev1.Pod) {
	s.release(now, p)
	if p.on != nil && p.on.name == object.Spec.NodeName && reflect.DeepEqual(p.Requests, fit.RequestsOf(object)) &&
		p.object.DeletionTimestamp.Equal(object.DeletionTimestamp) {
		p.read(object)
	} else {
		s.lift(p)
		p.read(object)
		s.put(p, s.nodeOf(object.Spec.NodeName))
	}
	if p.phase != placed {
		s.touch(p.on) // it may have to leave for others from now on
	}
	s.enter(p, placed)
}

// ForgetPod drops a pod that was deleted, by its UID.
func (s *Scheduler) ForgetPod(now time.Time, id types.UID) {
	s.evictions.ForgetPod(now, id)
	p := s.pods[id]
	if p == nil {
		return
	}
	s.release(now, p)
	s.lift(p)
	if p.preemptor != nil {
		delete(p.preemptor.victims, id)
	}
	s.enter(p, placed)
	delete(s.pods, id)
}

// ObserveDaemonSet takes a DaemonSet, for nodes that do not exist yet.
func (s *Scheduler) ObserveDaemonSet(now time.Time, set *appsv1.DaemonSet) {
	s.active.Advance(now)
	s.sets[set.Namespace+"/"+set.Name] = fit.CompileSet(set, s.config.Matcher)
}

// ForgetDaemonSet drops a DaemonSet that was deleted.
func (s *Scheduler) ForgetDaemonSet(now time.Time, namespace, name string) {
	s.active.Advance(now)
	delete(s.sets, namespace+"/"+name)
}

// ObserveBudget takes a PodDisruptionBudget. What it has refused is tried
// again.
func (s *Scheduler) ObserveBudget(now time.Time, object *policyv1.PodDisruptionBudget) {
	selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
	if err != nil {
		selector = labels.Nothing() // as for the API server
	}
	s.budgets[object.Namespace+"/"+object.Name] = budgetOf(object, selector)
	s.retryRefused(now, object.Namespace)
}

// ForgetBudget drops a PodDisruptionBudget that was deleted.
func (s *Scheduler) ForgetBudget(now time.Time, namespace, name string) {
	delete(s.budgets, namespace+"/"+name)
	s.retryRefused(now, namespace)
}

func (s *Scheduler) retryRefused(now time.Time, namespace string) {
	for _, p := range s.wanting {
		for id, v := range p.victims {
			if v.refused && v.object.Namespace == namespace {
				v.refused = false
				s.evictions.Retry(now, id)
			}
		}
	}
}

// MarkSynced says that all that existed at the start was observed. Nothing is
// decided before.
func (s *Scheduler) MarkSynced(now time.Time) {
	s.synced = true
	s.health.MarkSynced(now)
	s.evictions.MarkSynced()
}

// holdHalt is the name of the hold of an operator.
const holdHalt = "halt"

// Halt makes no pod leave any more until Resume. Pods are bound as ever.
func (s *Scheduler) Halt(now time.Time) {
	s.evictions.SetHold(now, holdHalt, "", true)
}

// Resume ends what Halt began.
func (s *Scheduler) Resume(now time.Time) {
	s.evictions.SetHold(now, holdHalt, "", false)
	s.touchAll()
}

// halted reports whether an operator holds the evictions of victims.
func (s *Scheduler) halted() bool { return s.evictions.Held(holdHalt, "") }
