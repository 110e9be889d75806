package memory

import (
	"context"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
)

// start says where a watch begins.
type start struct {
	initial  []runtime.Object // sent as Added first
	bookmark runtime.Object   // sent after them; nil: none
	position uint64           // in the resource's history, from there on
	expired  bool             // instead of all this: 410 Gone
}

// watch opens a watch with the meaning that the API gives to ListOptions: no
// resourceVersion or "0" begins with what there is, any other with the changes
// after it, sendInitialEvents with what there is and a bookmark behind it.
func (s *server) watch(gvr schema.GroupVersionResource, namespace string, options metav1.ListOptions) (watch.Interface, error) {
	f, err := s.filter(gvr, options)
	if err != nil {
		return nil, err
	}
	if options.SendInitialEvents != nil && options.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", field.ErrorList{
			field.Forbidden(field.NewPath("resourceVersionMatch"), "sendInitialEvents requires NotOlderThan"),
		})
	}
	version, err := parseVersion(options.ResourceVersion)
	if err != nil {
		return nil, failure(err.Error()) // a list of it is 400
	}
	begin, err := s.begin(gvr, namespace, version, options)
	if err != nil {
		return nil, err
	}
	f.namespace = namespace
	w := &watcher{
		store: s.store, resource: gvr, filter: f,
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

func (s *server) begin(gvr schema.GroupVersionResource, namespace string, version uint64, options metav1.ListOptions) (start, error) {
	initial := version == 0
	if options.SendInitialEvents != nil {
		initial = *options.SendInitialEvents
	}
	entries, begin, now := s.store.begin(gvr, namespace, version, initial)
	if version > now {
		return start{}, tooLarge(version, now)
	}
	begin.initial = sorted(entries)
	if options.SendInitialEvents == nil || !initial || !options.AllowWatchBookmarks {
		return begin, nil
	}
	object, err := s.kinds.new(gvr)
	if err != nil {
		return start{}, err
	}
	metaOf(object).SetResourceVersion(formatVersion(now))
	metaOf(object).SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	begin.bookmark = object
	return begin, nil
}

// begin reads where a watch begins, and what there is when that is asked for,
// in one step, so that no change is missed or told twice.
func (s *store) begin(gvr schema.GroupVersionResource, namespace string, version uint64, initial bool) ([]entry, start, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.resource(gvr)
	if initial {
		return r.snapshot(namespace), start{position: r.history.end()}, s.version
	}
	if version == 0 {
		return nil, start{position: r.history.end()}, s.version
	}
	position, ok := r.history.after(version)
	return nil, start{position: position, expired: !ok}, s.version
}

func (s *store) open(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches[w] = struct{}{}
}

func (s *store) closed(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watches, w)
}

func (s *store) openWatches() []*watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := make([]*watcher, 0, len(s.watches))
	for w := range s.watches {
		open = append(open, w)
	}
	return open
}

// next copies changes from a position on into buffer. Without any it returns a
// channel that is closed by the next one. It reports false when the position
// has been forgotten.
func (s *store) next(gvr schema.GroupVersionResource, position uint64, buffer []record) (int, <-chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &s.resource(gvr).history
	n, ok := h.read(position, buffer)
	if n == 0 && ok {
		return 0, h.wait(), true
	}
	return n, nil, ok
}

// watcher is one open watch: a goroutine that reads the history and sends. It
// ends by Stop, by the timeout that the client asked for, or when it has fallen
// so far behind that what it should read next is forgotten.
type watcher struct {
	store    *store
	resource schema.GroupVersionResource
	filter   filter

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

func (w *watcher) run(begin start) {
	defer close(w.stopped)
	defer w.store.closed(w)
	defer w.cancel()
	defer close(w.result)
	if begin.expired {
		w.expire()
		return
	}
	if !w.sendInitial(begin) {
		return
	}
	buffer := make([]record, 128)
	for position := begin.position; ; {
		n, changed, ok := w.store.next(w.resource, position, buffer)
		if !ok {
			w.expire()
			return
		}
		if n == 0 && !w.sleep(changed) {
			return
		}
		for _, r := range buffer[:n] {
			if !w.sendRecord(r) {
				return
			}
		}
		clear(buffer[:n])
		position += uint64(n)
	}
}

func (w *watcher) sendInitial(begin start) bool {
	for _, object := range begin.initial {
		if !w.filter.matches(object) {
			continue
		}
		if !w.send(watch.Event{Type: watch.Added, Object: object.DeepCopyObject()}) {
			return false
		}
	}
	return begin.bookmark == nil || w.send(watch.Event{Type: watch.Bookmark, Object: begin.bookmark})
}

func (w *watcher) sendRecord(r record) bool {
	event, send := w.filter.event(r)
	return !send || w.send(event)
}

// expire tells the client to list again.
func (w *watcher) expire() {
	gone := apierrors.NewResourceExpired("the requested resourceVersion is too old: later changes are no longer kept")
	w.send(watch.Event{Type: watch.Error, Object: &gone.ErrStatus})
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

func parseVersion(version string) (uint64, error) {
	if version == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("resourceVersion %q is not a number", version))
	}
	return n, nil
}

// tooLarge answers a client that has seen the future, another cluster's for
// example. Reflectors know the cause and list anew.
func tooLarge(version, now uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", version, now), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}
