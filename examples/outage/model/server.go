package model

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Namespace is the one that all pods are in.
const Namespace = "default"

// Resources as the API server names them.
var (
	nodeResource   = corev1.SchemeGroupVersion.WithResource("nodes")
	podResource    = corev1.SchemeGroupVersion.WithResource("pods")
	budgetResource = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")
)

// server is the API server: the rules for what clients ask of it, what it has,
// and what the model wants to know with that. An object in it is never
// modified: a change is another object.
//
// Kubelets, owners and the scheduler commit what they write to the store
// themselves. They act on the newest state, so that no rule could refuse it.
type server struct {
	rules *apiserver.Server
	store *store
	pods  map[string]*podRecord
	// homeless counts the pods that are bound to a machine that there never was.
	homeless int
	lock     network.Lock
}

// podRecord is a pod on the API server and what the model wants to know with
// it.
type podRecord struct {
	object *corev1.Pod
	owner  *Workload
	slot   int // in Machine.pods, or nowhere
}

// nowhere is the slot of a homeless pod.
const nowhere = -1

func newServer(w *World) server {
	// The watches of the model are told of each change, and need no history.
	objects := &store{Objects: apiserver.NewObjects(apiserver.Limits{History: 1}), world: w}
	// No client of the model lists or watches through the rules, which needs
	// types.
	rules := apiserver.NewServer(objects, runtime.NewScheme())
	rules.Shared = true
	return server{
		rules: rules,
		store: objects,
		pods:  make(map[string]*podRecord),
	}
}

// store is what the API server has, except for leases. It tells the world of
// each change.
type store struct {
	*apiserver.Objects
	world *World
	call  *network.Call // under way; nil: no client's
}

// Commit makes a change and tells the world of it. A change that shows a last
// state before the object is gone is told as one, as the model's watches show
// it.
func (s *store) Commit(c apiserver.Change) bool {
	if !s.Objects.Commit(c) {
		return false
	}
	shown := c.Next
	if c.Last != nil {
		shown, c.Next = c.Last, nil
	}
	switch c.Resource {
	case nodeResource:
		before, _ := c.Old.(*corev1.Node)
		after, _ := c.Next.(*corev1.Node)
		s.world.nodeChanged(s.call, before, after, shown)
	case podResource:
		before, _ := c.Old.(*corev1.Pod)
		after, _ := c.Next.(*corev1.Pod)
		s.world.podChanged(s.call, before, after, shown)
	case budgetResource:
		if budget, ok := c.Next.(*policyv1.PodDisruptionBudget); ok {
			s.world.workload[budget.Name].Budget.changed(s.call, budget)
		}
	default:
		if kind, watched := network.KindOf(c.Resource); watched {
			s.world.objectChanged(s.call, kind, &c, shown)
		}
	}
	return true
}

func podKey(name string) apiserver.Key { return apiserver.Key{Namespace: Namespace, Name: name} }

// Node returns a node as the API server has it, or nil.
func (w *World) Node(name string) *corev1.Node {
	if m := w.machine[name]; m != nil {
		return m.node
	}
	return nil
}

// Pod returns a pod as the API server has it, or nil.
func (w *World) Pod(name string) *corev1.Pod {
	if record := w.server.pods[name]; record != nil {
		return record.object
	}
	return nil
}

// Nodes returns all nodes by name.
func (w *World) Nodes() []*corev1.Node {
	return sortedByName[*corev1.Node](w.server.store, nodeResource)
}

// Pods returns all pods by name.
func (w *World) Pods() []*corev1.Pod { return sortedByName[*corev1.Pod](w.server.store, podResource) }

// ObjectsOf returns all objects of a kind that is not leases, by name.
func ObjectsOf[O network.Object](w *World, kind network.Kind) []O {
	return sortedByName[O](w.server.store, kind.Resource())
}

// Version is the resourceVersion of the last change of anything.
func (w *World) Version() uint64 { return w.server.store.Version() }

// PodsOn returns the pods that are bound to a node, in no order of meaning but
// the same in each run.
func (w *World) PodsOn(node string) []*corev1.Pod {
	m := w.machine[node]
	if m == nil || len(m.pods) == 0 {
		return nil
	}
	pods := make([]*corev1.Pod, len(m.pods))
	for i, record := range m.pods {
		pods[i] = record.object
	}
	return pods
}

// Count returns how many nodes and pods there are.
func (w *World) Count() (nodes, pods int) {
	for _, m := range w.machines {
		if m.node != nil {
			nodes++
		}
	}
	return nodes, len(w.server.pods)
}

func sortedByName[O any](s *store, resource schema.GroupVersionResource) []O {
	entries, _ := s.Snapshot(resource, "")
	return apiserver.Sorted[O](entries)
}

// commit makes a change of the newest state.
func (w *World) commit(c apiserver.Change) {
	c.At = w.Now()
	if !w.server.store.Commit(c) {
		panic(fmt.Sprintf("model: %s %s is not what was changed", c.Resource.Resource, c.Key.Name))
	}
}

// putNode stores a version of a node. The object is the server's from then on.
func (w *World) putNode(after *corev1.Node) {
	change := apiserver.Change{Resource: nodeResource, Key: apiserver.Key{Name: after.Name}, Next: after}
	if before := w.Node(after.Name); before != nil {
		change.Old = before
	}
	w.commit(change)
}

// dropNode deletes a node and, as the garbage collector would, its lease and
// later its pods.
func (w *World) dropNode(name string) {
	before := w.Node(name)
	if before == nil {
		return
	}
	last := *before
	w.commit(apiserver.Change{Resource: nodeResource, Key: apiserver.Key{Name: name}, Old: before, Last: &last})
	if m := w.machine[name]; m.lease != nil {
		gone := m.leaseChange(&lease{m, w.server.store.NextVersion(), m.lease.renewed})
		gone.Gone = true
		m.lease = nil
		w.Announce(gone)
	}
	w.After(orphanedPodsStay, func() { w.collectPods(name) })
}

// nodeChanged tells of a change. Shown is what watches show of it: the newest
// or the last state.
func (w *World) nodeChanged(call *network.Call, before, after *corev1.Node, shown runtime.Object) {
	m := w.machine[apiserver.MetaOf(shown).GetName()]
	m.node = after
	w.pending.nodeChanged(m)
	w.kubelets.SawNode(m, before)
	for _, witness := range w.witnesses {
		witness.WroteNode(NodeWrite{call, before, after})
	}
	w.announce(network.Nodes, shown, after == nil)
}

// announce shows a change to watches.
func (w *World) announce(kind network.Kind, shown runtime.Object, gone bool) {
	object, _ := shown.(network.Object)
	name := object.GetName()
	w.Announce(network.Change{Kind: kind, Name: name, Number: front{w}.Number(kind, name), Object: object, Gone: gone})
}

// putPod stores a version of a pod. The object is the server's from then on.
func (w *World) putPod(after *corev1.Pod) {
	change := apiserver.Change{Resource: podResource, Key: podKey(after.Name), Next: after}
	if before := w.Pod(after.Name); before != nil {
		change.Old = before
	}
	w.commit(change)
}

// dropPod removes a pod.
func (w *World) dropPod(name string) {
	before := w.Pod(name)
	if before == nil {
		return
	}
	last := *before
	w.commit(apiserver.Change{Resource: podResource, Key: podKey(name), Old: before, Last: &last})
}

// objectChanged tells of a change of another kind.
func (w *World) objectChanged(call *network.Call, kind network.Kind, c *apiserver.Change, shown runtime.Object) {
	before, _ := c.Old.(network.Object)
	after, _ := c.Next.(network.Object)
	for _, witness := range w.witnesses {
		witness.Wrote(Write{call, kind, before, after})
	}
	w.announce(kind, shown, after == nil)
	switch kind {
	case network.DaemonSets:
		w.ownerChanged(as[*appsv1.DaemonSet](before), as[*appsv1.DaemonSet](after))
	case network.Revisions:
		if revision := as[*appsv1.ControllerRevision](after); revision != nil {
			w.dependentChanged(revision)
		}
	}
}

func (w *World) podChanged(call *network.Call, before, after *corev1.Pod, shown runtime.Object) {
	record := w.recordPod(before, after)
	for _, witness := range w.witnesses {
		witness.WrotePod(PodWrite{call, before, after})
	}
	w.announce(network.Pods, shown, after == nil)
	switch {
	case record.owner != nil:
		record.owner.podChanged(before, after)
	case before == nil && after.Spec.NodeName == "":
		w.schedule(after)
	case before == nil && w.Node(after.Spec.NodeName) == nil:
		w.After(orphanedPodsStay, func() { w.collectPod(after) })
	}
	if after != nil && record.owner == nil {
		w.dependentChanged(after)
	}
	w.kubelets.SawPod(before, after)
}

// recordPod keeps the record of a pod.
func (w *World) recordPod(before, after *corev1.Pod) *podRecord {
	if after == nil {
		record := w.server.pods[before.Name]
		delete(w.server.pods, before.Name)
		switch on := before.Spec.NodeName; {
		case on == "":
		case record.slot == nowhere:
			w.server.homeless--
		default:
			w.machine[on].removePod(record)
		}
		return record
	}
	record := w.server.pods[after.Name]
	if record == nil {
		record = &podRecord{owner: w.workload[after.Labels[OwnerLabel]]}
		w.server.pods[after.Name] = record
	}
	record.object = after
	if on := after.Spec.NodeName; on != "" && (before == nil || before.Spec.NodeName == "") {
		if m := w.machine[on]; m != nil {
			m.addPod(record)
		} else {
			record.slot = nowhere
			w.server.homeless++
		}
	}
	return record
}

func (m *Machine) addPod(record *podRecord) {
	record.slot = len(m.pods)
	m.pods = append(m.pods, record)
}

// takeIn has a machine take the homeless pods that are bound to it.
func (m *Machine) takeIn() {
	s := &m.world.server
	if s.homeless == 0 {
		return
	}
	for _, pod := range m.world.Pods() {
		if pod.Spec.NodeName == m.Name {
			s.homeless--
			m.addPod(s.pods[pod.Name])
		}
	}
}

func (m *Machine) removePod(record *podRecord) {
	last := len(m.pods) - 1
	m.pods[record.slot] = m.pods[last]
	m.pods[record.slot].slot = record.slot
	m.pods[last] = nil
	m.pods = m.pods[:last]
}
