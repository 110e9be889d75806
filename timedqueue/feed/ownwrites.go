package feed

import (
	"container/list"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// name distinguishes an object from the others that there are with it. Objects
// that follow each other under one name have different UIDs.
type name struct{ namespace, name string }

func nameOf(object metav1.Object) name {
	return name{object.GetNamespace(), object.GetName()}
}

// ownWrite is what our newest write to the object of a name has left.
type ownWrite[T metav1.Object] struct {
	// object is as the API server has returned it, or as it was before our
	// deletion. The core has seen it, or has been told that it is gone.
	object  T
	deleted bool
	// recordedAt is when we learned of it.
	recordedAt time.Time
	// passedAt is when it was first known that the informer is as far as the
	// write. Until then it is zero.
	passedAt time.Time
}

func (w *ownWrite[T]) uid() types.UID  { return w.object.GetUID() }
func (w *ownWrite[T]) version() string { return w.object.GetResourceVersion() }

// outranks reports whether what the write has left is newer than an object of
// its name. An object that was deleted does not come back in any version.
func (w *ownWrite[T]) outranks(object T) bool {
	if w.deleted && w.uid() == object.GetUID() {
		return true
	}
	return isOlder(object, w.object)
}

// ownWrites are the writes that the informer has not shown yet, one for each
// name. All have the same timeout, so they end in the order in which it started.
// Lists are enough where other waits need a timedqueue.Queue.
type ownWrites[T metav1.Object] struct {
	latest  time.Time              // a clock that goes back is not trusted
	version string                 // of the informer at the last look
	ahead   *list.List             // of *ownWrite[T] that it has not reached, the oldest first
	ending  *list.List             // of those whose timeout runs, the first first
	of      map[name]*list.Element // elements of either
}

func newOwnWrites[T metav1.Object]() *ownWrites[T] {
	return &ownWrites[T]{
		ahead: list.New(), ending: list.New(), of: make(map[name]*list.Element),
	}
}

// record replaces the write of a name.
func (w *ownWrites[T]) record(now time.Time, object T, deleted bool) {
	w.forget(object)
	w.of[nameOf(object)] = w.ahead.PushBack(&ownWrite[T]{
		object: object, deleted: deleted, recordedAt: w.clamp(now),
	})
}

// look starts the timeouts of the writes that the informer has reached, if its
// version has changed. A watch that is minutes late is behind them, and says
// nothing about them. After a restored backup the informer may never reach them.
// As a rule it goes back then, and all timeouts start. It does not if it was
// behind the backup, so a watch is trusted to be late for so long only.
func (w *ownWrites[T]) look(now time.Time, version string) {
	if version == w.version {
		return
	}
	now = w.clamp(now)
	wentBack := !hasReached(version, w.version)
	w.version = version
	for first := w.ahead.Front(); first != nil; first = w.ahead.Front() {
		own := first.Value.(*ownWrite[T]) //nolint:errcheck // the lists hold nothing else
		mayBeLate := now.Sub(own.recordedAt) < latestWatch*ownWriteTimeout
		if mayBeLate && !wentBack && !hasReached(version, own.version()) {
			return
		}
		own.passedAt = now
		w.ahead.Remove(first)
		w.of[nameOf(own.object)] = w.ending.PushBack(own)
	}
}

const (
	// ownWriteTimeout is how long an own write outranks older reports, once the
	// informer has reached it. It is far above the delay of a watch that works.
	ownWriteTimeout = time.Minute
	// latestWatch is how many timeouts a watch may be late.
	latestWatch = 10
)

// forget drops the write of the name of an object.
func (w *ownWrites[T]) forget(object T) {
	if element, ok := w.of[nameOf(object)]; ok {
		w.ahead.Remove(element) // does nothing to one of the other list
		w.ending.Remove(element)
		delete(w.of, nameOf(object))
	}
}

// find returns the write of the name of an object, or nil.
func (w *ownWrites[T]) find(object T) *ownWrite[T] {
	if len(w.of) == 0 { // as it is for most reports
		return nil
	}
	element, ok := w.of[nameOf(object)]
	if !ok {
		return nil
	}
	return element.Value.(*ownWrite[T]) //nolint:errcheck // as above
}

// expired drops and returns the oldest write if its timeout is over, or nil.
func (w *ownWrites[T]) expired(now time.Time) *ownWrite[T] {
	first := w.ending.Front()
	if first == nil {
		return nil
	}
	own := first.Value.(*ownWrite[T]) //nolint:errcheck // as above
	if !w.isOver(now, own) {
		return nil
	}
	w.forget(own.object)
	return own
}

// isOver reports whether the timeout of a write is over.
func (w *ownWrites[T]) isOver(now time.Time, own *ownWrite[T]) bool {
	return !own.passedAt.IsZero() && w.clamp(now).Sub(own.passedAt) >= ownWriteTimeout
}

func (w *ownWrites[T]) clamp(now time.Time) time.Time {
	if now.After(w.latest) {
		w.latest = now
	}
	return w.latest
}

// isOlder and hasReached are both false for versions that do not compare.
func isOlder(object, than metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(
		object.GetResourceVersion(), than.GetResourceVersion())
	return err == nil && order < 0
}

func hasReached(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && order >= 0
}
