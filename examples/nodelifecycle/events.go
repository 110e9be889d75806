package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
)

// events records Events under the names of the two controllers of
// kube-controller-manager that this program stands in for.
type events struct {
	broadcaster   record.EventBroadcaster
	nodes, taints record.EventRecorder
}

func newEvents(ctx context.Context, client kubernetes.Interface) *events {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartStructuredLogging(4)
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return &events{
		broadcaster: broadcaster,
		nodes:       broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "node-controller"}),
		taints:      broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "taint-eviction-controller"}),
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

func (e *events) stop() { e.broadcaster.Shutdown() }
