package ownership

import (
	"container/list"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// ErrInvalidConfig is wrapped by each error of [OverlayConfig.Validate] and
// [NewOverlay].
var ErrInvalidConfig = errors.New("invalid ownership config")

// OverlayConfig is what an [Overlay] needs.
type OverlayConfig struct {
	// Timeout is how long a write counts that the cache does not show. Zero means
	// one minute.
	Timeout time.Duration
}

// defaultTimeout is far above the delay of a watch that works.
const defaultTimeout = time.Minute

// Validate returns what is wrong with the config, as [ErrInvalidConfig].
func (c OverlayConfig) Validate() error {
	if c.Timeout < 0 {
		return fmt.Errorf("%w: OverlayConfig.Timeout is %v, want zero or more",
			ErrInvalidConfig, c.Timeout)
	}
	return nil
}

// Overlay shows a cache as it will be once it has our own writes. A watch
// delivers them late, and a decision from the cache alone would repeat them. It
// would adopt a pod a second time, create a revision again, or count a deleted
// one.
//
// Record each write with what the API server has returned: [Overlay.Created],
// [Overlay.Patched], [Overlay.Deleted]. [Overlay.Merge] returns the objects of
// the cache with these over them. A write is forgotten as soon as one of these
// holds:
//
//   - The cache has a created or patched object in that version or a newer one,
//     or in a version that does not compare.
//   - The cache has a newer object of that name.
//   - The cache no longer has a patched or deleted object.
//   - The cache lacks a created object and has a version of any object that is
//     at least as new. The created object is deleted then.
//   - Timeout is over. This bounds the harm when the versions of the API server
//     have gone back, as after a restored backup.
//
// Use one Overlay for each cache: objects of one resource, from one informer.
// Versions of two resources do not compare. Pass to each Merge all objects of
// that cache that the writes can be about. A missing object counts as deleted.
//
// It keeps own writes only, for one Timeout at most, and has no goroutine,
// timer or clock. It is not safe for concurrent use.
type Overlay[T metav1.Object] struct {
	timeout time.Duration
	latest  time.Time              // a clock that goes back is not trusted
	inOrder *list.List             // of *ownWrite[T], the oldest first
	of      map[name]*list.Element // in inOrder
}

// name identifies one object at a time.
type name struct{ namespace, name string }

func nameOf(object metav1.Object) name {
	return name{object.GetNamespace(), object.GetName()}
}

// ownWrite is our newest write to the object of a name.
type ownWrite[T metav1.Object] struct {
	object T // as the API server returned it, or as it was before its deletion
	kind   writeKind
	unseen bool // created by us, and in no cache of a Merge yet
	at     time.Time
}

func (w *ownWrite[T]) uid() types.UID { return w.object.GetUID() }

// writeKind is what the object of a write is now.
type writeKind uint8

const (
	present writeKind = iota + 1
	deleted
)

func (k writeKind) String() string {
	switch k {
	case present:
		return "present"
	case deleted:
		return "deleted"
	}
	return fmt.Sprintf("writeKind(%d)", uint8(k))
}

// NewOverlay returns an Overlay without writes.
func NewOverlay[T metav1.Object](config OverlayConfig, now time.Time) (*Overlay[T], error) {
	err := config.Validate()
	if now.IsZero() {
		err = errors.Join(err, fmt.Errorf("%w: now is zero, want the present time", ErrInvalidConfig))
	}
	if err != nil {
		return nil, err
	}
	if config.Timeout == 0 {
		config.Timeout = defaultTimeout
	}
	return &Overlay[T]{
		timeout: config.Timeout, latest: now,
		inOrder: list.New(), of: make(map[name]*list.Element),
	}, nil
}

// Created records objects that we have created, or that we have read and the
// cache has never had.
func (o *Overlay[T]) Created(now time.Time, objects ...T) {
	for _, object := range objects {
		o.record(now, ownWrite[T]{object: object, kind: present, unseen: true})
	}
}

// Patched records objects of the cache that we have patched.
func (o *Overlay[T]) Patched(now time.Time, objects ...T) {
	for _, object := range objects {
		o.record(now, ownWrite[T]{object: object, kind: present})
	}
}

// Deleted records objects that we have deleted, as they were before. They are
// left out from now on. Do not record a pod with a grace period, because it
// still runs on its node.
func (o *Overlay[T]) Deleted(now time.Time, objects ...T) {
	for _, object := range objects {
		o.record(now, ownWrite[T]{object: object, kind: deleted})
	}
}

// record replaces the write of a name, if this one is newer.
func (o *Overlay[T]) record(now time.Time, write ownWrite[T]) {
	write.at = o.clamp(now)
	o.expire(forgottenAtOnce)
	name := nameOf(write.object)
	if earlier, ok := o.find(name); ok {
		if !write.follows(earlier) {
			return
		}
		o.forget(name)
	}
	o.of[name] = o.inOrder.PushBack(&write)
}

// follows reports whether a write is newer than the earlier one of its name. It
// takes over what still holds from the earlier one.
func (w *ownWrite[T]) follows(earlier *ownWrite[T]) bool {
	older := isOlder(w.object, earlier.object)
	if w.uid() != earlier.uid() {
		return !older
	}
	if earlier.kind == deleted {
		return false // it does not come back
	}
	if older { // an answer that came late
		w.object = earlier.object
	}
	w.unseen = w.unseen || earlier.unseen
	return true
}

// forgottenAtOnce bounds the work of one call of record. It is more than the
// one write that is added.
const forgottenAtOnce = 16

// expire forgets the oldest writes whose time is over, at most so many.
func (o *Overlay[T]) expire(most int) {
	for range most {
		first := o.inOrder.Front()
		if first == nil || o.latest.Sub(writeIn[T](first).at) < o.timeout {
			return
		}
		o.forget(nameOf(writeIn[T](first).object))
	}
}

// Merge returns the objects of the cache with our writes over them: each in the
// newer version, and without deleted ones. Created objects that the cache lacks
// come last, in the order of their writes. It changes neither the slice nor the
// objects.
func (o *Overlay[T]) Merge(now time.Time, cached []T) []T {
	o.clamp(now)
	o.expire(o.inOrder.Len())
	if len(o.of) == 0 {
		return slices.Clone(cached)
	}
	merged := make([]T, 0, len(cached))
	seen := make(map[name]bool, len(o.of))
	for _, object := range cached {
		name := nameOf(object)
		write, ok := o.find(name)
		if !ok {
			merged = append(merged, object)
			continue
		}
		seen[name] = true
		switch {
		case write.isReached(object):
			o.forget(name)
			merged = append(merged, object)
		case write.kind == present:
			merged = append(merged, write.object)
		}
		if write.uid() == object.GetUID() {
			write.unseen = false
		}
	}
	return o.appendCreated(merged, seen, cached)
}

// isReached reports whether the cache's object of the same name has come after
// the write.
func (w *ownWrite[T]) isReached(cached T) bool {
	if w.kind == deleted && w.uid() == cached.GetUID() {
		return false // until the cache lacks it
	}
	return !isOlder(cached, w.object)
}

// appendCreated appends what we have created and the cache lacks. It forgets
// other writes that the cache lacks.
func (o *Overlay[T]) appendCreated(merged []T, seen map[name]bool, cached []T) []T {
	newest := ""
	for element := o.inOrder.Front(); element != nil; {
		write := writeIn[T](element)
		element = element.Next()
		name := nameOf(write.object)
		if seen[name] {
			continue
		}
		if newest == "" && write.unseen {
			newest = newestVersion(cached)
		}
		switch {
		case !write.unseen || hasReached(newest, write.object.GetResourceVersion()):
			o.forget(name)
		case write.kind == present:
			merged = append(merged, write.object)
		}
	}
	return merged
}

func (o *Overlay[T]) find(name name) (*ownWrite[T], bool) {
	element, ok := o.of[name]
	if !ok {
		return nil, false
	}
	return writeIn[T](element), true
}

func (o *Overlay[T]) forget(name name) {
	if element, ok := o.of[name]; ok {
		o.inOrder.Remove(element)
		delete(o.of, name)
	}
}

func (o *Overlay[T]) clamp(now time.Time) time.Time {
	if now.After(o.latest) {
		o.latest = now
	}
	return o.latest
}

func writeIn[T metav1.Object](element *list.Element) *ownWrite[T] {
	return element.Value.(*ownWrite[T]) //nolint:errcheck // the list holds nothing else
}

// newestVersion returns the newest version in a cache. A watch delivers
// versions in order, so the cache has all that the API server wrote up to it.
// It is "0" if no version compares.
func newestVersion[T metav1.Object](cached []T) string {
	newest := "0"
	for _, object := range cached {
		if version := object.GetResourceVersion(); !hasReached(newest, version) &&
			hasReached(version, version) {
			newest = version
		}
	}
	return newest
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
