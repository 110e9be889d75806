package model

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
)

// A Witness is told what happens, while it happens: it must not change
// anything. Objects must not be modified. Embed [Unimpressed] to leave some of
// it out.
type Witness interface {
	// WroteNode and WrotePod: an object has another version on the API server, or
	// a client has written what was there.
	WroteNode(NodeWrite)
	WrotePod(PodWrite)
	// Beat: a machine's lease was renewed.
	Beat(*Machine)
	// Sent, Processed and Answered: a client's call has left, has been dealt with
	// by the API server, and is over for the client. Not every call gets so far.
	Sent(*Call)
	Processed(*Call)
	Answered(*Call)
	// SawNode, SawLease and SawPod: a watch has shown a version to a client. After
	// is nil when it has shown that the object is gone. Leases are cleared when
	// SawLease has returned.
	SawNode(client *Client, before, after *corev1.Node)
	SawLease(client *Client, before, after *coordinationv1.Lease)
	SawPod(client *Client, before, after *corev1.Pod)
	// SawHalt: a watch has shown a client that its leader is halted, or is not any
	// more.
	SawHalt(client *Client, halted bool)
	// Noted: something that is told and not seen.
	Noted(Note)
}

// NodeWrite is a write of a node. Before is nil for a new one, After for one
// that is gone. They are the same object if the write changes nothing.
type NodeWrite struct {
	// Call is the client's call that did it, nil if it was no client's.
	Call          *Call
	Before, After *corev1.Node
}

// PodWrite is a write of a pod, like NodeWrite.
type PodWrite struct {
	Call          *Call
	Before, After *corev1.Pod
}

// Note is something that happened: a fault, or a turn in the life of a client.
type Note struct {
	Kind NoteKind
	// Client is the client that it is about, nil if it is about none.
	Client *Client
	Text   string
}

// NoteKind says what a note tells.
type NoteKind string

// What notes tell.
const (
	FaultBegan NoteKind = "fault began"
	FaultEnded NoteKind = "fault ended"
	// Started: a process has started. Synced: its first lists are in. Leads: it
	// acts. Stopped: it has ended, by itself or not. Paused, Resumed: it stands
	// still.
	Started NoteKind = "started"
	Synced  NoteKind = "synced"
	Leads   NoteKind = "leads"
	Stopped NoteKind = "stopped"
	Paused  NoteKind = "paused"
	Resumed NoteKind = "resumed"
)

// Unimpressed is a witness that does nothing.
type Unimpressed struct{}

var _ Witness = Unimpressed{}

// WroteNode does nothing.
func (Unimpressed) WroteNode(NodeWrite) {}

// WrotePod does nothing.
func (Unimpressed) WrotePod(PodWrite) {}

// Beat does nothing.
func (Unimpressed) Beat(*Machine) {}

// Sent does nothing.
func (Unimpressed) Sent(*Call) {}

// Processed does nothing.
func (Unimpressed) Processed(*Call) {}

// Answered does nothing.
func (Unimpressed) Answered(*Call) {}

// SawNode does nothing.
func (Unimpressed) SawNode(*Client, *corev1.Node, *corev1.Node) {}

// SawLease does nothing.
func (Unimpressed) SawLease(*Client, *coordinationv1.Lease, *coordinationv1.Lease) {}

// SawPod does nothing.
func (Unimpressed) SawPod(*Client, *corev1.Pod, *corev1.Pod) {}

// SawHalt does nothing.
func (Unimpressed) SawHalt(*Client, bool) {}

// Noted does nothing.
func (Unimpressed) Noted(Note) {}

// Note tells all witnesses something.
func (w *World) Note(note Note) {
	for _, witness := range w.witnesses {
		witness.Noted(note)
	}
}
