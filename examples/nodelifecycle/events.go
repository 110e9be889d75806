package main

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// events records Events under the names of the two controllers of
// kube-controller-manager that this program stands in for.
type events struct {
	nodes, taints record.EventRecorder
	// self is what Events about the controller itself are about.
	self corev1.ObjectReference
	stop func()
}

// newEvents starts to record. Events about the controller itself are about the
// leader's lease, as those of leader election are.
func newEvents(ctx context.Context, client kubernetes.Interface, p *commandline.Process) *events {
	all := process.NewEventsOf(ctx, p, client)
	return &events{
		nodes:  all.Recorder("node-controller"),
		taints: all.Recorder("taint-eviction-controller"),
		self: corev1.ObjectReference{
			APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease",
			Namespace: p.LeaseNamespace, Name: p.Lease(),
		},
		stop: all.Stop,
	}
}

// reasonFlags is the reason of Events about flags that are valid, but odd.
const reasonFlags = "FlagsContradict"

// warn records what is odd about the flags, about the controller itself.
func (e *events) warn(warnings []string) {
	for _, warning := range warnings {
		e.record(controller.Record{Type: corev1.EventTypeWarning, Reason: reasonFlags, Message: warning})
	}
}

// record records what the controller has to tell, as the one of the two
// controllers that would.
func (e *events) record(event controller.Record) {
	recorder := e.nodes
	if event.Reason == controller.ReasonEviction {
		recorder = e.taints
	}
	if event.Object == (corev1.ObjectReference{}) {
		event.Object = e.self
	}
	recorder.Event(&event.Object, event.Type, event.Reason, event.Message)
}
