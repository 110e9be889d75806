package feed

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// A Handler passes the reports of an informer about objects of one type on to a
// core. It is as safe for concurrent use as Config.Observe makes it.
type Handler[T metav1.Object] struct {
	config Config[T]
	own    *ownWrites // used inside Observe only
}

var _ cache.ResourceEventHandler = (*Handler[metav1.Object])(nil)

// NewHandler returns a handler to add to an informer of objects of type T.
// Objects of other types are ignored.
func NewHandler[T metav1.Object](config Config[T]) (*Handler[T], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.OwnWriteTimeout == 0 {
		config.OwnWriteTimeout = defaultOwnWriteTimeout
	}
	return &Handler[T]{config, newOwnWrites(config.OwnWriteTimeout)}, nil
}

// OnAdd takes the report of an object that is new to the informer.
func (h *Handler[T]) OnAdd(object any, _ bool) {
	if added, ok := object.(T); ok {
		h.config.Observe(func(now time.Time) { h.seen(now, added) })
	}
}

// OnUpdate takes the report of another version of an object, or of another
// object under its name.
func (h *Handler[T]) OnUpdate(before, after any) {
	updated, ok := after.(T)
	if !ok {
		return
	}
	if replaced, ok := before.(T); ok && replaced.GetUID() != updated.GetUID() {
		h.config.Observe(func(now time.Time) {
			h.gone(now, replaced)
			h.seen(now, updated)
		})
		return
	}
	h.config.Observe(func(now time.Time) { h.seen(now, updated) })
}

// OnDelete takes the report that an object is gone. It ignores a tombstone
// without an object, because then nothing of it was reported before.
func (h *Handler[T]) OnDelete(object any) {
	if last, missed := object.(cache.DeletedFinalStateUnknown); missed {
		object = last.Obj
	}
	if deleted, ok := object.(T); ok {
		h.config.Observe(func(now time.Time) {
			h.gone(now, deleted)
			h.endWaits(now, deleted.GetResourceVersion())
		})
	}
}

// Wrote takes an object as the API server has returned it for a write of ours.
// Reports of older versions of it are withheld from then on; see the package
// comment for how long. The core is not shown the object. Wrote calls Observe.
func (h *Handler[T]) Wrote(object T) {
	h.config.Observe(func(now time.Time) {
		h.own.record(now, identityOf(object), object.GetResourceVersion())
		h.endWaits(now, "")
	})
}

func (h *Handler[T]) gone(now time.Time, object T) {
	h.own.forget(identityOf(object))
	h.config.Gone(now, object)
}

func (h *Handler[T]) seen(now time.Time, object T) {
	version := object.GetResourceVersion()
	if own, withheld := h.own.reported(now, identityOf(object), version); withheld {
		h.catchUp(now, own)
	} else {
		h.config.Seen(now, object)
	}
	h.endWaits(now, version)
}

// catchUp passes the store's present object to the core in place of an older
// report.
func (h *Handler[T]) catchUp(now time.Time, own *ownWrite) {
	if !h.storePassed(own) {
		return
	}
	// Without an object of that UID its deletion is about to be reported.
	if present, ok := h.present(own.object); ok {
		h.own.stored(own, present.GetResourceVersion())
		h.config.Seen(now, present)
	}
}

// endWaits ends the wait for writes that reports have reached, or whose timeout
// is over. If a write is lost, the core sees what the store has instead.
func (h *Handler[T]) endWaits(now time.Time, reported string) {
	for range endedAtOnce {
		own, over, ok := h.own.next(now, reported)
		if !ok {
			return
		}
		present, ok := h.present(own.object)
		if ok && isOlder(present.GetResourceVersion(), own.version) && (over || h.storePassed(own)) {
			h.config.Seen(now, present)
		}
	}
}

// present returns the object of that UID in the store.
func (h *Handler[T]) present(object identity) (T, bool) {
	var none T
	if h.config.Store == nil {
		return none, false
	}
	key := cache.NewObjectName(object.namespace, object.name).String()
	item, exists, err := h.config.Store.GetByKey(key)
	if err != nil || !exists {
		return none, false
	}
	present, ok := item.(T)
	return present, ok && present.GetUID() == object.uid
}

// storePassed reports whether the store has seen all changes up to a write. A
// store of a client-go before v0.36 cannot tell.
func (h *Handler[T]) storePassed(own *ownWrite) bool {
	store, ok := h.config.Store.(interface{ LastStoreSyncResourceVersion() string })
	return ok && hasReached(store.LastStoreSyncResourceVersion(), own.version)
}

// endedAtOnce bounds the work of a report. It is more than the one write that a
// turn can add, so the number of writes falls.
const endedAtOnce = 16
