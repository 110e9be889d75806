package feed

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// A Handler passes the reports of an informer about objects of one type, and
// our own writes to them, on to a core. It is as safe for concurrent use as
// Config.Update makes it.
type Handler[T metav1.Object] struct {
	config Config[T]
	// What follows is used inside Update only.
	own *ownWrites[T]
	// reported is the version that the informer has reported last. A watch reports
	// versions in their order.
	reported string
}

var _ cache.ResourceEventHandler = (*Handler[metav1.Object])(nil)

// NewHandler returns a handler to add to an informer of objects of type T.
// Objects of other types are ignored.
func NewHandler[T metav1.Object](config Config[T]) (*Handler[T], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Handler[T]{config: config, own: newOwnWrites[T]()}, nil
}

// OnAdd takes the report of an object that is new to the informer.
func (h *Handler[T]) OnAdd(object any, _ bool) {
	if added, ok := object.(T); ok {
		h.config.Update(func(now time.Time) { h.report(now, added, added) })
	}
}

// OnUpdate takes the report of another version of an object, or of another
// object under its name.
func (h *Handler[T]) OnUpdate(before, after any) {
	updated, ok := after.(T)
	if !ok {
		return
	}
	former, ok := before.(T)
	if !ok {
		former = updated
	}
	if former.GetUID() == updated.GetUID() {
		h.config.Update(func(now time.Time) { h.report(now, former, updated) })
		return
	}
	h.config.Update(func(now time.Time) {
		h.end(now, former)
		h.report(now, updated, updated)
	})
}

// OnDelete takes the report that an object is gone. It ignores a tombstone
// without an object, because then nothing of it was reported before.
func (h *Handler[T]) OnDelete(object any) {
	if last, missed := object.(cache.DeletedFinalStateUnknown); missed {
		object = last.Obj
	}
	if deleted, ok := object.(T); ok {
		h.config.Update(func(now time.Time) {
			h.look(now)
			h.reported = deleted.GetResourceVersion()
			h.end(now, deleted)
			h.expire(now)
		})
	}
}

// report shows a reported object, unless a write of ours outranks it.
func (h *Handler[T]) report(now time.Time, former, object T) {
	h.look(now)
	h.reported = object.GetResourceVersion()
	if own := h.own.find(object); own == nil {
		h.config.Seen(now, object)
	} else if !h.isWithheld(now, own, former, object) {
		h.own.forget(object)
		if own.uid() != object.GetUID() && !own.deleted {
			h.config.Gone(now, own.object)
		}
		h.config.Seen(now, object)
	}
	h.expire(now)
}

// isWithheld reports whether a write of ours outranks a reported object. A
// watch shows versions in their order. Only a list after a restored backup goes
// back, and it is believed.
func (h *Handler[T]) isWithheld(now time.Time, own *ownWrite[T], former, object T) bool {
	return own.outranks(object) && !isOlder(object, former) &&
		!h.own.isOver(now, own) && !h.isLost(own)
}

// end tells that an object is gone, unless the core has seen another one of the
// name since. It was told then.
func (h *Handler[T]) end(now time.Time, object T) {
	own := h.own.find(object)
	switch {
	case own == nil:
	case own.uid() == object.GetUID():
		h.own.forget(object)
	case !own.deleted:
		return
	}
	h.config.Gone(now, object)
}

// Wrote takes an object as the API server has returned it for a write of ours,
// or for a read. The core is shown it if, and only if, it is newer than what
// the core has seen. From then on it outranks older reports; see the package
// comment for how long. If the informer's store is further, the core is shown
// what that has.
func (h *Handler[T]) Wrote(object T) {
	h.config.Update(func(now time.Time) {
		h.wrote(now, object)
		h.expire(now)
	})
}

func (h *Handler[T]) wrote(now time.Time, object T) {
	h.look(now)
	own := h.own.find(object)
	if own != nil && own.outranks(object) {
		return // a later write was answered before
	}
	former, known := h.stored(object)
	if own != nil && !own.deleted {
		former, known = own.object, true
	}
	switch {
	case !known && h.passed(object.GetResourceVersion()):
		return // it is gone already
	case known && !isOlder(former, object):
		if former.GetUID() != object.GetUID() {
			return // another one has its name by now
		}
		object = former // its reports may still be on their way
	case known && former.GetUID() != object.GetUID():
		h.config.Gone(now, former)
	}
	h.own.record(now, object, false)
	h.config.Seen(now, object)
}

// Deleted takes an object that the API server has deleted for us, or does not
// have any more, as it was before. The core is told that it is gone. From then
// on that outranks reports of the object, in any version. Do not pass an object
// that waits for its grace period or for finalizers.
func (h *Handler[T]) Deleted(object T) {
	h.config.Update(func(now time.Time) {
		h.deleted(now, object)
		h.expire(now)
	})
}

func (h *Handler[T]) deleted(now time.Time, object T) {
	h.look(now)
	former, known := h.stored(object)
	if own := h.own.find(object); own != nil {
		former, known = own.object, true
	}
	if known && former.GetUID() != object.GetUID() {
		if !isOlder(former, object) {
			return // another one has its name by now
		}
		h.config.Gone(now, former)
	}
	h.own.record(now, object, true)
	h.config.Gone(now, object)
}

// Expire ends the wait for writes whose timeout is over. Each report and each
// write does the same, but a quiet resource has none for long. Call it once a
// second or so; see [Expiring].
func (h *Handler[T]) Expire() {
	h.config.Update(func(now time.Time) {
		h.look(now)
		h.expire(now)
	})
}

// look starts the timeouts of the writes that the informer has reached. It is
// the begin of each turn.
func (h *Handler[T]) look(now time.Time) {
	if h.config.Store != nil {
		h.own.look(now, h.config.Store.LastSyncResourceVersion())
	}
}

// expire shows the core the store's objects in place of writes whose timeout is
// over. It is the end of each turn.
func (h *Handler[T]) expire(now time.Time) {
	for range endedAtOnce {
		own := h.own.expired(now)
		if own == nil {
			return
		}
		stored, exists := h.stored(own.object)
		isAnother := exists && stored.GetUID() != own.uid()
		if (!exists || isAnother) && !own.deleted {
			h.config.Gone(now, own.object)
		}
		if isAnother || exists && own.outranks(stored) {
			h.config.Seen(now, stored)
		}
	}
}

// endedAtOnce bounds the work of a turn. It is more than the one write that a
// turn can add, so the number of writes falls.
const endedAtOnce = 16

// stored returns the object of that name in the informer's store.
func (h *Handler[T]) stored(object T) (T, bool) {
	var none T
	key := cache.NewObjectName(object.GetNamespace(), object.GetName()).String()
	item, exists, err := h.config.Store.GetByKey(key)
	if err != nil || !exists {
		return none, false
	}
	stored, ok := item.(T)
	return stored, ok
}

// isLost reports whether the store has passed a write and has an older object
// all the same, as after a restored backup.
func (h *Handler[T]) isLost(own *ownWrite[T]) bool {
	if own.deleted || !h.storePassed(own.version()) {
		return false
	}
	stored, exists := h.stored(own.object)
	return exists && isOlder(stored, own.object)
}

// passed reports whether the informer has seen all changes up to a version.
func (h *Handler[T]) passed(version string) bool {
	return hasReached(h.reported, version) || h.storePassed(version)
}

// storePassed is false for a store that cannot tell.
func (h *Handler[T]) storePassed(version string) bool {
	store, ok := h.config.Store.(storeThatTells)
	return ok && hasReached(store.LastStoreSyncResourceVersion(), version)
}
