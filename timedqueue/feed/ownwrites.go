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
	// receivedAt is when it was first known that the informer has received
	// something after the write. Until then it is zero.
	receivedAt time.Time
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
// name. All have the same timeout, so they end in the order in which they were
// recorded. A list is enough where other waits need a timedqueue.Queue. Those
// whose timeout has not started are at its end.
type ownWrites[T metav1.Object] struct {
	timeout time.Duration
	latest  time.Time              // a clock that goes back is not trusted
	version string                 // of the informer at the last look
	inOrder *list.List             // of *ownWrite[T], the oldest first
	of      map[name]*list.Element // elements of inOrder
}

func newOwnWrites[T metav1.Object](timeout time.Duration) *ownWrites[T] {
	return &ownWrites[T]{
		timeout: timeout, inOrder: list.New(), of: make(map[name]*list.Element),
	}
}

// record replaces the write of a name.
func (w *ownWrites[T]) record(object T, deleted bool) {
	w.forget(object)
	w.of[nameOf(object)] = w.inOrder.PushBack(&ownWrite[T]{object: object, deleted: deleted})
}

// look starts the timeouts of all writes if the informer's version has changed.
func (w *ownWrites[T]) look(now time.Time, version string) {
	if version == w.version {
		return
	}
	w.version = version
	for element := w.inOrder.Back(); element != nil; element = element.Prev() {
		own := element.Value.(*ownWrite[T]) //nolint:errcheck // the list holds nothing else
		if !own.receivedAt.IsZero() {
			return
		}
		own.receivedAt = w.clamp(now)
	}
}

// forget drops the write of the name of an object.
func (w *ownWrites[T]) forget(object T) {
	if element, ok := w.of[nameOf(object)]; ok {
		w.inOrder.Remove(element)
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
	first := w.inOrder.Front()
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
	return !own.receivedAt.IsZero() && w.clamp(now).Sub(own.receivedAt) >= w.timeout
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
