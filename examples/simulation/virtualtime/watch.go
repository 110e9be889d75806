package virtualtime

import (
	"maps"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// Watch is an informer of one resource: a store, and a handler that is told of
// each change of it. What it has not shown yet waits in order. Timeline, Log
// and Handler must be set before its first call.
type Watch struct {
	Timeline *Timeline
	// Log is what the API server has stored. Its owner appends to it.
	Log     *Log
	Handler cache.ResourceEventHandler
	// Transform is that of the informer. It must not change what it is given. Nil
	// keeps all.
	Transform func(metav1.Object) metav1.Object
	// Shown is called after each report. Nil does nothing.
	Shown func()

	objects map[string]metav1.Object
	version uint64 // of the last change that it has shown
	waiting []Change
	last    time.Duration // when the last of those is shown
	broken  bool
	closed  bool
}

// GetByKey is for feed.Store.
func (w *Watch) GetByKey(key string) (item any, exists bool, err error) {
	object, exists := w.objects[key]
	return object, exists, nil
}

// LastStoreSyncResourceVersion returns how far the store is, for feed.Store.
func (w *Watch) LastStoreSyncResourceVersion() string { return strconv.FormatUint(w.version, 10) }

// LastSyncResourceVersion returns how far the informer is, for feed.Store. It
// receives nothing that it does not show at once.
func (w *Watch) LastSyncResourceVersion() string { return w.LastStoreSyncResourceVersion() }

// Version returns how far the store is.
func (w *Watch) Version() uint64 { return w.version }

// Objects returns what is in the store, by name.
func (w *Watch) Objects() []metav1.Object {
	objects := make([]metav1.Object, 0, len(w.objects))
	for _, key := range slices.Sorted(maps.Keys(w.objects)) {
		objects = append(objects, w.objects[key])
	}
	return objects
}

// List shows what there was at a version, as a reflector does that lists. It
// shows what came later after delays. A broken watch works again.
func (w *Watch) List(version uint64, delay func() time.Duration) {
	w.broken, w.waiting, w.version = false, nil, version
	w.compare(w.Log.StateAt(version))
	for _, change := range (*w.Log)[w.Log.after(version):] {
		w.Show(change, delay())
	}
}

// Break makes the watch miss everything until it lists again.
func (w *Watch) Break() { w.broken, w.waiting = true, nil }

// Broken reports whether the watch misses everything.
func (w *Watch) Broken() bool { return w.broken && !w.closed }

// Close ends the watch. It shows nothing any more.
func (w *Watch) Close() { w.closed = true }

// Show shows a change so much later, after those before it.
func (w *Watch) Show(change Change, delay time.Duration) {
	if w.broken || w.closed {
		return
	}
	w.waiting = append(w.waiting, change)
	w.last = max(w.last, w.Timeline.Elapsed()+delay)
	w.Timeline.After(w.last-w.Timeline.Elapsed(), func() { w.deliver(change.Version) })
}

// deliver shows the first change that waits, if it is of that version. It is
// not if it was listed meanwhile.
func (w *Watch) deliver(version uint64) {
	if w.closed || len(w.waiting) == 0 || w.waiting[0].Version != version {
		return
	}
	change := w.waiting[0]
	w.waiting = w.waiting[1:]
	w.version = change.Version
	if change.After == nil {
		delete(w.objects, keyOf(change.Before))
		w.Handler.OnDelete(w.transformed(change.Before))
	} else {
		key := keyOf(change.After)
		known := w.objects[key]
		w.objects[key] = w.transformed(change.After)
		if known != nil {
			w.Handler.OnUpdate(known, w.objects[key])
		} else {
			w.Handler.OnAdd(w.objects[key], false)
		}
	}
	w.shown()
}

// compare tells the handler how a list differs from the store.
func (w *Watch) compare(listed map[string]metav1.Object) {
	before := w.objects
	w.objects = make(map[string]metav1.Object, len(listed))
	for key, object := range listed {
		w.objects[key] = w.transformed(object)
	}
	for _, key := range slices.Sorted(maps.Keys(w.objects)) {
		if known, ok := before[key]; ok {
			w.Handler.OnUpdate(known, w.objects[key])
		} else {
			w.Handler.OnAdd(w.objects[key], true)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, ok := w.objects[key]; !ok {
			w.Handler.OnDelete(cache.DeletedFinalStateUnknown{Key: key, Obj: before[key]})
		}
	}
	w.shown()
}

func (w *Watch) transformed(object metav1.Object) metav1.Object {
	if w.Transform == nil {
		return object
	}
	return w.Transform(object)
}

func (w *Watch) shown() {
	if w.Shown != nil {
		w.Shown()
	}
}
