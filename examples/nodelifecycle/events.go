package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
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

func (e *events) stop() { e.broadcaster.Shutdown() }
