package process

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// Events records Events on a cluster, under the names of one or more components.
type Events struct{ broadcaster record.EventBroadcaster }

// NewEvents starts to record. Whoever called it calls Stop.
func NewEvents(ctx context.Context, client kubernetes.Interface) *Events {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartStructuredLogging(4)
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return &Events{broadcaster}
}

// Recorder returns what records Events as a component.
func (e *Events) Recorder(component string) record.EventRecorder {
	return e.broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})
}

// Stop ends the recording. Events that are recorded later are dropped.
func (e *Events) Stop() { e.broadcaster.Shutdown() }
