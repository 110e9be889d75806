package model

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Kubelets are those of all machines of a world. The world tells them what
// happens, at the moment in which it happens, with all that it has stored by
// then. They act through the methods of [Machine]. Writes wait until they have
// returned from SawNode, SawPod and Complete.
type Kubelets interface {
	// Start makes the kubelet of a machine run that has just been added.
	Start(m *Machine)
	// Speak makes a machine renew its lease if that was due, and report its status
	// if it has changed. It does so before it returns.
	Speak(m *Machine)
	// Reached: the machine is cut off from the API server, or is not any more.
	Reached(m *Machine)
	// SawNode: the machine's node has another version. It was nil before if it is
	// new, and is nil now if it is gone.
	SawNode(m *Machine, before *corev1.Node)
	// SawPod: a pod has another version. Before is nil for a new one, after for
	// one that is gone. It may be bound to no machine.
	SawPod(before, after *corev1.Pod)
	// Complete adds what kubelets need to a pod that is not stored yet: to its
	// spec and, when it is ready already, to its status.
	Complete(pod *corev1.Pod)
}

// Run makes these the kubelets, in the place of the model's own. It is called
// before the first machine is added.
func (w *World) Run(kubelets Kubelets) { w.kubelets = kubelets }

// Silent reports whether the machine is cut off by itself.
func (m *Machine) Silent() bool { return m.silent > 0 }

// NotReady reports whether the kubelet is to report that its node is not ready.
func (m *Machine) NotReady() bool { return m.notReady > 0 }

// Pressed reports whether the machine is under memory pressure.
func (m *Machine) Pressed() bool { return m.pressured > 0 }

// Node returns the machine's node as the API server has it, or nil.
func (m *Machine) Node() *corev1.Node { return m.node }

// Lease returns the machine's lease as the API server has it, or nil.
func (m *Machine) Lease() *coordinationv1.Lease { return m.lease.object() }

// RenewLease writes the machine's lease, with what its clock shows. It fails
// while the machine does not reach the API server.
func (m *Machine) RenewLease() error {
	if m.silent > 0 {
		return network.ErrConnection
	}
	m.LastTry = m.world.Elapsed()
	if !m.Reaches() || m.world.reach.failsRenewal(m.random) {
		return network.ErrConnection
	}
	m.LastBeat, m.LastRenewal = m.world.Elapsed(), m.world.Elapsed()
	m.Beats++
	m.world.putLease(m)
	return nil
}

// PatchNodeStatus patches the status of the machine's node, as any client
// would. It fails while the machine does not reach the API server.
func (m *Machine) PatchNodeStatus(kind types.PatchType, patch []byte) (*corev1.Node, error) {
	if !m.Reaches() {
		return nil, network.ErrConnection
	}
	w, before := m.world, m.node
	patched, err := w.server.rules.Patch(w.Now(), nodeResource, apiserver.Key{Name: m.Name}, kind, patch, statusOnly())
	node, _ := patched.(*corev1.Node)
	if err == nil && before != nil && ShowsBeat(before, node) {
		m.LastBeat = w.Elapsed()
	}
	return node, err
}

// PatchPodStatus patches the status of a pod, as any client would. It fails
// while the machine does not reach the API server.
func (m *Machine) PatchPodStatus(name string, kind types.PatchType, patch []byte) error {
	if !m.Reaches() {
		return network.ErrConnection
	}
	w := m.world
	_, err := w.server.rules.Patch(w.Now(), podResource, podKey(name), kind, patch, statusOnly())
	return err
}

// DeletePod deletes a pod, as any client would. It fails while the machine does
// not reach the API server.
func (m *Machine) DeletePod(name string, options metav1.DeleteOptions) error {
	if !m.Reaches() {
		return network.ErrConnection
	}
	w := m.world
	_, err := w.server.rules.Delete(w.Now(), podResource, podKey(name), options)
	return err
}

func statusOnly() apiserver.WriteOptions { return apiserver.WriteOptions{Subresource: "status"} }
