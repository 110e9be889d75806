package model

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// audience tells the witnesses of a world what the network tells.
type audience struct{ *World }

var _ network.Witness = audience{}

// Sent implements [network.Witness].
func (a audience) Sent(call *network.Call) {
	for _, witness := range a.witnesses {
		witness.Sent(call)
	}
}

// Processed implements [network.Witness].
func (a audience) Processed(call *network.Call) {
	for _, witness := range a.witnesses {
		witness.Processed(call)
	}
}

// Answered implements [network.Witness].
func (a audience) Answered(call *network.Call) {
	for _, witness := range a.witnesses {
		witness.Answered(call)
	}
}

// Noted implements [network.Witness].
func (a audience) Noted(note network.Note) {
	for _, witness := range a.witnesses {
		witness.Noted(note)
	}
}

// Saw implements [network.Witness].
func (a audience) Saw(client *network.Client, kind network.Kind, before, after network.Object) {
	for _, witness := range a.witnesses {
		switch kind {
		case network.Nodes:
			witness.SawNode(client, as[*corev1.Node](before), as[*corev1.Node](after))
		case network.Pods:
			witness.SawPod(client, as[*corev1.Pod](before), as[*corev1.Pod](after))
		case network.Leases:
			witness.SawLease(client, as[*coordinationv1.Lease](before), as[*coordinationv1.Lease](after))
		case network.LeaderLease:
			before, after := as[network.Lock](before), as[network.Lock](after)
			if before.Halted != after.Halted {
				witness.SawHalt(client, after.Halted)
			}
		default:
			witness.Saw(client, kind, before, after)
		}
	}
}

// as returns an object as the type that it has, or the zero value.
func as[O any](object network.Object) O {
	typed, _ := object.(O)
	return typed
}
