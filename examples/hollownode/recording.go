package main

import (
	"context"

	"k8s.io/client-go/kubernetes"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/process"
)

// recording records what the kubelets tell as Events. Its queue is not that of
// leader election, whose few Events thousands of others would displace.
type recording struct{ events *process.Events }

// newRecording starts to record, if the settings want it.
func newRecording(ctx context.Context, s *settings, client kubernetes.Interface) recording {
	if !s.events {
		return recording{}
	}
	return recording{process.NewEvents(ctx, client)}
}

// record returns what records an event, or nil if none is recorded. It does not
// wait: an event for which the queue has no room is dropped.
func (r recording) record() func(kubelet.Event) {
	if r.events == nil {
		return nil
	}
	return func(e kubelet.Event) {
		r.events.RecorderOf(kubelet.EventComponent, e.Node).Event(&e.Object, e.Type, e.Reason, e.Message)
	}
}

// stop ends the recording.
func (r recording) stop() {
	if r.events != nil {
		r.events.Stop()
	}
}
