package model

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Only returns a witness for which the clients that do not match are anybody
// else: it is not told of their calls and of what they are shown, and what they
// write was written by no client.
func Only(witness Witness, match func(*network.Client) bool) Witness { return only{witness, match} }

type only struct {
	Witness

	match func(*network.Client) bool
}

func (o only) own(call *network.Call) *network.Call {
	if call != nil && !o.match(call.Client) {
		return nil
	}
	return call
}

func (o only) WroteNode(w NodeWrite) {
	o.Witness.WroteNode(NodeWrite{o.own(w.Call), w.Before, w.After})
}

func (o only) WrotePod(w PodWrite) { o.Witness.WrotePod(PodWrite{o.own(w.Call), w.Before, w.After}) }

func (o only) Wrote(w Write) { o.Witness.Wrote(Write{o.own(w.Call), w.Kind, w.Before, w.After}) }

func (o only) Sent(call *network.Call) {
	if o.match(call.Client) {
		o.Witness.Sent(call)
	}
}

func (o only) Processed(call *network.Call) {
	if o.match(call.Client) {
		o.Witness.Processed(call)
	}
}

func (o only) Answered(call *network.Call) {
	if o.match(call.Client) {
		o.Witness.Answered(call)
	}
}

func (o only) SawNode(c *network.Client, before, after *corev1.Node) {
	if o.match(c) {
		o.Witness.SawNode(c, before, after)
	}
}

func (o only) SawPod(c *network.Client, before, after *corev1.Pod) {
	if o.match(c) {
		o.Witness.SawPod(c, before, after)
	}
}

func (o only) SawLease(c *network.Client, before, after *coordinationv1.Lease) {
	if o.match(c) {
		o.Witness.SawLease(c, before, after)
	}
}

func (o only) Saw(c *network.Client, kind network.Kind, before, after network.Object) {
	if o.match(c) {
		o.Witness.Saw(c, kind, before, after)
	}
}

func (o only) SawHalt(c *network.Client, halted bool) {
	if o.match(c) {
		o.Witness.SawHalt(c, halted)
	}
}

func (o only) Noted(note network.Note) {
	if note.Client == nil || o.match(note.Client) {
		o.Witness.Noted(note)
	}
}
