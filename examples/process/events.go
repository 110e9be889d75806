package process

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// Events records Events on a cluster, under the names of one or more
// components.
type Events struct {
	broadcaster record.EventBroadcaster
	// mu is held for reading while an Event is recorded. So none comes to a
	// broadcaster that was stopped meanwhile, which would log an error.
	mu      sync.RWMutex
	stopped bool
}

// NewEventsOf is NewEvents, or for a shadow Events that are all dropped.
func NewEventsOf(ctx context.Context, p *commandline.Process, client kubernetes.Interface) *Events {
	if p.Shadow {
		return &Events{broadcaster: newBroadcaster(ctx), stopped: true}
	}
	return NewEvents(ctx, client)
}

func newBroadcaster(ctx context.Context) record.EventBroadcaster {
	return record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
}

// NewEvents starts to record, until Stop is called. The end of ctx does not
// stop it: when a program ends, its leader election still records that it has
// stopped leading.
func NewEvents(ctx context.Context, client kubernetes.Interface) *Events {
	broadcaster := newBroadcaster(ctx)
	broadcaster.StartStructuredLogging(4)
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return &Events{broadcaster: broadcaster}
}

// Recorder returns what records Events as a component.
func (e *Events) Recorder(component string) record.EventRecorder {
	source := corev1.EventSource{Component: component}
	return &recorder{events: e, inner: e.broadcaster.NewRecorder(scheme.Scheme, source)}
}

// RecorderOf returns what records Events as a component of one of many hosts.
// It is cheap, and need not be kept. An Event for which the queue has no room
// is dropped without a line in the log, because there can be thousands.
func (e *Events) RecorderOf(component, host string) record.EventRecorder {
	source := corev1.EventSource{Component: component, Host: host}
	return &recorder{
		events: e, inner: e.broadcaster.NewRecorder(scheme.Scheme, source).WithLogger(klog.Logger{}),
	}
}

// Stop ends the recording. Events that are recorded later are dropped.
func (e *Events) Stop() {
	e.mu.Lock()
	e.stopped = true
	e.mu.Unlock()
	e.broadcaster.Shutdown()
}

// unlessStopped records something before Stop, and drops it after that.
func (e *Events) unlessStopped(record func()) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if !e.stopped {
		record()
	}
}

// recorder drops the Events that come after the recording was stopped.
type recorder struct {
	events *Events
	inner  record.EventRecorder
}

func (r *recorder) Event(object runtime.Object, kind, reason, message string) {
	r.events.unlessStopped(func() { r.inner.Event(object, kind, reason, message) })
}

func (r *recorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.events.unlessStopped(func() { r.inner.Eventf(object, kind, reason, format, args...) })
}

func (r *recorder) AnnotatedEventf(
	object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any,
) {
	r.events.unlessStopped(func() {
		r.inner.AnnotatedEventf(object, annotations, kind, reason, format, args...)
	})
}
