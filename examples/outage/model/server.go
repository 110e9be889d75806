package model

import (
	"slices"
	"strconv"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind is a kind of object that the API server has.
type Kind int

// Kinds of objects.
const (
	Nodes Kind = iota
	Leases
	Pods
	LeaderLease
	kinds
)

func (k Kind) String() string { return [...]string{"nodes", "leases", "pods", "leader's lease"}[k] }

// Namespace is the one that all pods are in.
const Namespace = "default"

// server is what the API server has. An object in it is never modified: a
// change is another object.
type server struct {
	version uint64
	nodes   map[string]*corev1.Node
	pods    map[string]*podRecord
	podsOn  map[string][]*podRecord // by node
	watches [kinds][]*watch
	lock    Lock
}

// podRecord is a pod on the API server and what the model wants to know with
// it.
type podRecord struct {
	object *corev1.Pod
	owner  *Workload
	slot   int // in podsOn
}

func newServer() server {
	return server{
		nodes:  make(map[string]*corev1.Node),
		pods:   make(map[string]*podRecord),
		podsOn: make(map[string][]*podRecord),
	}
}

func (s *server) nextVersion() string {
	s.version++
	return strconv.FormatUint(s.version, 10)
}

// Node returns a node as the API server has it, or nil.
func (w *World) Node(name string) *corev1.Node { return w.server.nodes[name] }

// Pod returns a pod as the API server has it, or nil.
func (w *World) Pod(name string) *corev1.Pod {
	if record := w.server.pods[name]; record != nil {
		return record.object
	}
	return nil
}

// Nodes returns all nodes by name.
func (w *World) Nodes() []*corev1.Node {
	return sortedByName(w.server.nodes, func(n *corev1.Node) *corev1.Node { return n })
}

// Pods returns all pods by name.
func (w *World) Pods() []*corev1.Pod {
	return sortedByName(w.server.pods, func(r *podRecord) *corev1.Pod { return r.object })
}

// PodsOn returns the pods that are bound to a node, in no order of meaning but
// the same in each run.
func (w *World) PodsOn(node string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, record := range w.server.podsOn[node] {
		pods = append(pods, record.object)
	}
	return pods
}

// Count returns how many nodes and pods there are.
func (w *World) Count() (nodes, pods int) { return len(w.server.nodes), len(w.server.pods) }

func sortedByName[R any, O interface{ GetName() string }](all map[string]R, object func(R) O) []O {
	objects := make([]O, 0, len(all))
	for _, record := range all {
		objects = append(objects, object(record))
	}
	slices.SortFunc(objects, func(a, b O) int { return strings.Compare(a.GetName(), b.GetName()) })
	return objects
}

// putNode stores a version of a node. The object is the server's from then on.
func (w *World) putNode(call *Call, after *corev1.Node) {
	before := w.server.nodes[after.Name]
	after.ResourceVersion = w.server.nextVersion()
	w.server.nodes[after.Name] = after
	w.machine[after.Name].node = after
	for _, witness := range w.witnesses {
		witness.WroteNode(NodeWrite{call, before, after})
	}
	w.announce(change{kind: Nodes, name: after.Name, object: after})
}

// dropNode deletes a node and, as the garbage collector would, its lease and
// later its pods.
func (w *World) dropNode(name string) {
	before := w.server.nodes[name]
	if before == nil {
		return
	}
	delete(w.server.nodes, name)
	for _, witness := range w.witnesses {
		witness.WroteNode(NodeWrite{nil, before, nil})
	}
	w.server.nextVersion()
	w.announce(change{kind: Nodes, name: name, object: before, gone: true})
	m := w.machine[name]
	m.node = nil
	if lease := m.lease; lease != nil {
		m.lease = nil
		w.server.nextVersion()
		w.announce(change{kind: Leases, name: name, object: lease, gone: true})
	}
	w.After(orphanedPodsStay, func() { w.collectPods(name) })
}

func (w *World) putLease(m *Machine) {
	// One allocation for both: there is one of these for each heartbeat.
	record := &struct {
		coordinationv1.Lease
		renewed metav1.MicroTime
	}{
		Lease: coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: m.Name, Namespace: corev1.NamespaceNodeLease,
				ResourceVersion: w.server.nextVersion()},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &m.Name},
		},
		renewed: metav1.NewMicroTime(m.renewTime()),
	}
	record.Spec.RenewTime = &record.renewed
	m.lease = &record.Lease
	for _, witness := range w.witnesses {
		witness.Beat(m)
	}
	w.announce(change{kind: Leases, name: m.Name, object: &record.Lease})
}

// putPod stores a version of a pod. The object is the server's from then on.
func (w *World) putPod(call *Call, after *corev1.Pod) {
	record := w.server.pods[after.Name]
	if record == nil {
		record = &podRecord{owner: w.workload[after.Labels[ownerLabel]]}
		w.server.pods[after.Name] = record
	}
	before := record.object
	after.ResourceVersion = w.server.nextVersion()
	record.object = after
	if on := after.Spec.NodeName; on != "" && (before == nil || before.Spec.NodeName == "") {
		record.slot = len(w.server.podsOn[on])
		w.server.podsOn[on] = append(w.server.podsOn[on], record)
	}
	w.podChanged(call, record.owner, before, after)
}

// dropPod removes a pod.
func (w *World) dropPod(call *Call, name string) {
	record := w.server.pods[name]
	if record == nil {
		return
	}
	delete(w.server.pods, name)
	if on := record.object.Spec.NodeName; on != "" {
		w.leaveNode(on, record)
	}
	w.server.nextVersion()
	w.podChanged(call, record.owner, record.object, nil)
}

func (w *World) leaveNode(on string, record *podRecord) {
	all := w.server.podsOn[on]
	last := len(all) - 1
	all[record.slot] = all[last]
	all[record.slot].slot = record.slot
	all[last] = nil
	w.server.podsOn[on] = all[:last]
	if last == 0 {
		delete(w.server.podsOn, on)
	}
}

func (w *World) podChanged(call *Call, owner *Workload, before, after *corev1.Pod) {
	for _, witness := range w.witnesses {
		witness.WrotePod(PodWrite{call, before, after})
	}
	if after == nil {
		w.announce(change{kind: Pods, name: before.Name, object: before, gone: true})
	} else {
		w.announce(change{kind: Pods, name: after.Name, object: after})
	}
	if owner != nil {
		owner.podChanged(before, after)
	}
	if after != nil {
		w.kubeletSawPod(before, after)
	}
}
