package simulation

import (
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/daemonset/edge"
	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
)

// watch is an informer of one kind: a store, and a handler that is told of each
// change of it. What it has not shown yet waits in order.
type watch struct {
	cluster *cluster
	kind    invariant.Kind
	objects map[string]metav1.Object
	handler cache.ResourceEventHandler
	version uint64 // of the last change that it has shown
	waiting []*invariant.Change
	last    time.Duration // when the last of those is shown
	broken  bool          // it misses everything until it lists again
	closed  bool
	shown   func() // is called after each report
}

// GetByKey is for feed.Store.
func (w *watch) GetByKey(key string) (item any, exists bool, err error) {
	object, exists := w.objects[key]
	return object, exists, nil
}

// LastStoreSyncResourceVersion returns how far the store is.
func (w *watch) LastStoreSyncResourceVersion() string { return strconv.FormatUint(w.version, 10) }

func keyOf(object metav1.Object) string {
	return cache.NewObjectName(object.GetNamespace(), object.GetName()).String()
}

// trimmed is what the transform of the informers leaves. Sets and revisions
// have nothing here that it would drop.
func trimmed(kind invariant.Kind, object metav1.Object) metav1.Object {
	if kind != invariant.Pods && kind != invariant.Nodes {
		return object
	}
	kept, err := edge.Trim(object)
	if trimmed, ok := kept.(metav1.Object); ok && err == nil {
		return trimmed
	}
	return object
}

// stateAt returns what there was of a kind at a version.
func (c *cluster) stateAt(kind invariant.Kind, version uint64) map[string]metav1.Object {
	objects := map[string]metav1.Object{}
	for _, change := range c.history.Changes {
		switch {
		case change.Kind != kind || change.Version > version:
		case change.After == nil:
			delete(objects, keyOf(change.Before))
		default:
			objects[keyOf(change.After)] = change.After
		}
	}
	return objects
}

// versionAt returns the newest version of a kind at a time.
func (c *cluster) versionAt(kind invariant.Kind, at time.Time) uint64 {
	version := uint64(1)
	for _, change := range c.history.Changes {
		if change.Kind == kind && !change.At.After(at) {
			version = change.Version
		}
	}
	return version
}

// list shows what there was at a version. What came later is shown by and by.
func (w *watch) list(version uint64, delay func() time.Duration) {
	w.broken, w.waiting, w.version = false, nil, version
	w.compare(w.cluster.stateAt(w.kind, version))
	for _, change := range w.cluster.history.Changes {
		if change.Kind == w.kind && change.Version > version {
			w.show(change, delay())
		}
	}
}

// compare tells the handler how a list differs from the store, as a reflector
// does that lists again.
func (w *watch) compare(listed map[string]metav1.Object) {
	before := w.objects
	w.objects = make(map[string]metav1.Object, len(listed))
	for key, object := range listed {
		w.objects[key] = trimmed(w.kind, object)
	}
	for _, key := range sortedKeys(w.objects) {
		if known, ok := before[key]; ok {
			w.handler.OnUpdate(known, w.objects[key])
		} else {
			w.handler.OnAdd(w.objects[key], true)
		}
	}
	for _, key := range sortedKeys(before) {
		if _, ok := w.objects[key]; !ok {
			w.handler.OnDelete(cache.DeletedFinalStateUnknown{Key: key, Obj: before[key]})
		}
	}
	w.shown()
}

func sortedKeys(objects map[string]metav1.Object) []string {
	keys := make([]string, 0, len(objects))
	for key := range objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// show shows a change so much later, after those before it.
func (w *watch) show(change *invariant.Change, delay time.Duration) {
	if w.broken || w.closed {
		return
	}
	w.waiting = append(w.waiting, change)
	w.last = max(w.last, w.cluster.now+delay)
	w.cluster.after(w.last-w.cluster.now, w.deliver(change))
}

// deliver shows the first change that waits, if it is the one.
func (w *watch) deliver(change *invariant.Change) func() {
	return func() {
		if w.closed || len(w.waiting) == 0 || w.waiting[0] != change {
			return // it was listed meanwhile
		}
		w.waiting = w.waiting[1:]
		w.version = change.Version
		key := keyOf(change.Object())
		known := w.objects[key]
		if change.After == nil {
			delete(w.objects, key)
			w.handler.OnDelete(trimmed(w.kind, change.Before))
		} else {
			w.objects[key] = trimmed(w.kind, change.After)
			if known != nil {
				w.handler.OnUpdate(known, w.objects[key])
			} else {
				w.handler.OnAdd(w.objects[key], false)
			}
		}
		w.shown()
	}
}
