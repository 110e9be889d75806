package main

import (
	"context"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/process"
)

// events records Events under the names of the two controllers of
// kube-controller-manager that this program stands in for.
type events struct {
	nodes, taints record.EventRecorder
	stop          func()
}

func newEvents(ctx context.Context, client kubernetes.Interface) *events {
	all := process.NewEvents(ctx, client)
	return &events{
		nodes:  all.Recorder("node-controller"),
		taints: all.Recorder("taint-eviction-controller"),
		stop:   all.Stop,
	}
}

// record records what the controller has to tell, as the one of the two
// controllers that would.
func (e *events) record(event controller.Record) {
	recorder := e.nodes
	if event.Reason == controller.ReasonEviction {
		recorder = e.taints
	}
	recorder.Event(&event.Object, event.Type, event.Reason, event.Message)
}
