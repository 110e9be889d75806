package feed

import (
	"container/list"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// identity distinguishes an object from others, also from earlier ones of its
// name.
type identity struct {
	namespace, name string
	uid             types.UID
}

func identityOf(object metav1.Object) identity {
	return identity{object.GetNamespace(), object.GetName(), object.GetUID()}
}

// ownWrite is the newest version of an object that a report must reach.
type ownWrite struct {
	object  identity
	version string
	at      time.Time
}

// ownWrites are the writes that reports have not reached yet. All have the same
// timeout, so they end in the order in which they were recorded. A list is
// enough where other waits need a timedqueue.Queue.
type ownWrites struct {
	timeout  time.Duration
	latest   time.Time                  // a clock that goes back is not trusted
	inOrder  *list.List                 // of *ownWrite, the oldest first
	byObject map[identity]*list.Element // elements of inOrder
}

func newOwnWrites(timeout time.Duration) *ownWrites {
	return &ownWrites{
		timeout: timeout, inOrder: list.New(), byObject: make(map[identity]*list.Element),
	}
}

// record adds a write. Of two writes of an object the newer version counts.
func (w *ownWrites) record(now time.Time, object identity, version string) {
	if !compares(version) {
		return // no report would be older
	}
	if earlier, ok := w.find(object); ok && isOlder(version, earlier.version) {
		version = earlier.version
	}
	w.forget(object)
	w.byObject[object] = w.inOrder.PushBack(&ownWrite{object, version, w.clamp(now)})
}

// forget drops the write of an object.
func (w *ownWrites) forget(object identity) {
	if element, ok := w.byObject[object]; ok {
		w.inOrder.Remove(element)
		delete(w.byObject, object)
	}
}

// reported takes a reported version of an object. It returns the write that the
// report is older than, if the report must be withheld. Otherwise it drops the
// write.
func (w *ownWrites) reported(now time.Time, object identity, version string) (*ownWrite, bool) {
	own, ok := w.find(object)
	if !ok {
		return nil, false
	}
	if isOlder(version, own.version) && !w.expired(own, w.clamp(now)) {
		return own, true
	}
	w.forget(object)
	return nil, false
}

// stored takes the version of an object in a store that has passed the write.
// Reports must reach that version, too. An older version means that the write
// is lost.
func (w *ownWrites) stored(own *ownWrite, version string) {
	if isOlder(version, own.version) || !compares(version) {
		w.forget(own.object)
		return
	}
	own.version = version
}

// next drops and returns the oldest write if its timeout is over, or if a
// report of the given version has reached it.
func (w *ownWrites) next(now time.Time, version string) (own *ownWrite, over, ok bool) {
	now = w.clamp(now)
	first := w.inOrder.Front()
	if first == nil {
		return nil, false, false
	}
	own = first.Value.(*ownWrite) //nolint:errcheck // the list holds nothing else
	over = w.expired(own, now)
	if !over && !hasReached(version, own.version) {
		return nil, false, false
	}
	w.forget(own.object)
	return own, over, true
}

func (w *ownWrites) find(object identity) (*ownWrite, bool) {
	element, ok := w.byObject[object]
	if !ok {
		return nil, false
	}
	return element.Value.(*ownWrite), true //nolint:errcheck // as above
}

func (w *ownWrites) expired(own *ownWrite, now time.Time) bool {
	return now.Sub(own.at) >= w.timeout
}

func (w *ownWrites) clamp(now time.Time) time.Time {
	if now.After(w.latest) {
		w.latest = now
	}
	return w.latest
}

// isOlder and hasReached are both false for versions that do not compare.
func isOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

func hasReached(version, own string) bool {
	order, err := resourceversion.CompareResourceVersion(version, own)
	return err == nil && order >= 0
}

func compares(version string) bool { return hasReached(version, version) }
