package model

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// A Witness is told what happens, while it happens: it must not change
// anything. Objects must not be modified. Embed [Unimpressed] to leave some of
// it out.
type Witness interface {
	// Witness is told of calls, and of what watches have shown of the kinds that
	// have no method here.
	network.Witness

	// WroteNode and WrotePod: an object has another version on the API server, or
	// a client has written what was there.
	WroteNode(NodeWrite)
	WrotePod(PodWrite)
	// Wrote is told of the objects of other kinds in the same way.
	Wrote(Write)
	// Beat: a machine's lease was renewed.
	Beat(*Machine)
	// SawNode, SawLease and SawPod: a watch has shown a version to a client. After
	// is nil when it has shown that the object is gone. Leases are cleared when
	// SawLease has returned.
	SawNode(client *network.Client, before, after *corev1.Node)
	SawLease(client *network.Client, before, after *coordinationv1.Lease)
	SawPod(client *network.Client, before, after *corev1.Pod)
	// SawHalt: a watch has shown a client that its leader is halted, or is not any
	// more.
	SawHalt(client *network.Client, halted bool)
}

// NodeWrite is a write of a node. Before is nil for a new one, After for one
// that is gone. They are the same object if the write changes nothing.
type NodeWrite struct {
	// Call is the client's call that did it, nil if it was no client's.
	Call          *network.Call
	Before, After *corev1.Node
}

// PodWrite is a write of a pod, like NodeWrite.
type PodWrite struct {
	Call          *network.Call
	Before, After *corev1.Pod
}

// Write is a write of an object of another kind, like NodeWrite.
type Write struct {
	Call          *network.Call
	Kind          network.Kind
	Before, After network.Object
}

// Unimpressed is a witness that does nothing.
type Unimpressed struct{ network.Unimpressed }

var _ Witness = Unimpressed{}

// WroteNode does nothing.
func (Unimpressed) WroteNode(NodeWrite) {}

// WrotePod does nothing.
func (Unimpressed) WrotePod(PodWrite) {}

// Wrote does nothing.
func (Unimpressed) Wrote(Write) {}

// Beat does nothing.
func (Unimpressed) Beat(*Machine) {}

// SawNode does nothing.
func (Unimpressed) SawNode(*network.Client, *corev1.Node, *corev1.Node) {}

// SawLease does nothing.
func (Unimpressed) SawLease(*network.Client, *coordinationv1.Lease, *coordinationv1.Lease) {}

// SawPod does nothing.
func (Unimpressed) SawPod(*network.Client, *corev1.Pod, *corev1.Pod) {}

// SawHalt does nothing.
func (Unimpressed) SawHalt(*network.Client, bool) {}
