package memory

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

// watch opens a watch.
func (s *server) watch(
	resource schema.GroupVersionResource, namespace string, options metav1.ListOptions,
) (watch.Interface, error) {
	begin, err := s.Watch(resource, namespace, options)
	if err != nil {
		return nil, err
	}
	w := &watcher{
		store: s.store, resource: resource,
		result: make(chan watch.Event, 64), stopped: make(chan struct{}),
	}
	w.ctx, w.cancel = lifetime(options.TimeoutSeconds)
	s.store.open(w)
	go w.run(begin)
	return w, nil
}

func lifetime(seconds *int64) (context.Context, context.CancelFunc) {
	if seconds == nil {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), time.Duration(*seconds)*time.Second)
}

// watcher is one open watch: a goroutine that reads the history and sends. It
// ends by Stop, by the timeout that the client asked for, or when it has fallen
// so far behind that what it should read next is forgotten.
type watcher struct {
	store    *store
	resource schema.GroupVersionResource

	ctx     context.Context // the watch's lifetime, not a call's
	cancel  context.CancelFunc
	result  chan watch.Event
	stopped chan struct{}
}

// ResultChan returns the channel of events. It is closed when the watch ends.
func (w *watcher) ResultChan() <-chan watch.Event {
	return w.result
}

// Stop ends the watch and returns when its goroutine has ended. It may be
// called more than once.
func (w *watcher) Stop() {
	w.cancel()
	<-w.stopped
}

func (w *watcher) run(begin apiserver.Watch) {
	defer close(w.stopped)
	defer w.store.closed(w)
	defer w.cancel()
	defer close(w.result)
	if begin.Expired {
		w.expire()
		return
	}
	if !w.sendInitial(begin) {
		return
	}
	buffer := make([]apiserver.Record, 128)
	for position := begin.Position; ; {
		n, changed, ok := w.store.next(w.resource, position, buffer)
		if !ok {
			w.expire()
			return
		}
		if n == 0 && !w.sleep(changed) {
			return
		}
		for _, r := range buffer[:n] {
			if !w.sendRecord(begin, r) {
				return
			}
		}
		clear(buffer[:n])
		position += uint64(n)
	}
}

func (w *watcher) sendInitial(begin apiserver.Watch) bool {
	for _, object := range begin.Initial {
		if !begin.Matches(object) {
			continue
		}
		if !w.send(watch.Event{Type: watch.Added, Object: object.DeepCopyObject()}) {
			return false
		}
	}
	return begin.Bookmark == nil || w.send(watch.Event{Type: watch.Bookmark, Object: begin.Bookmark})
}

func (w *watcher) sendRecord(begin apiserver.Watch, r apiserver.Record) bool {
	kind, object, shows := begin.Event(r)
	return !shows || w.send(watch.Event{Type: watch.EventType(kind), Object: object})
}

// expire tells the client to list again.
func (w *watcher) expire() {
	w.send(watch.Event{Type: watch.Error, Object: apiserver.Expired()})
}

func (w *watcher) send(event watch.Event) bool {
	select {
	case w.result <- event:
		return true
	case <-w.ctx.Done():
		return false
	}
}

func (w *watcher) sleep(changed <-chan struct{}) bool {
	select {
	case <-changed:
		return true
	case <-w.ctx.Done():
		return false
	}
}
