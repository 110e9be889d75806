package apiserver

import (
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Watch says where a watch begins and what it shows. What follows Initial is
// read from the store's history, from Position on, and translated by Event.
type Watch struct {
	// Initial is shown first, as added.
	Initial []runtime.Object
	// Bookmark is shown after Initial; nil: there is none.
	Bookmark runtime.Object
	// Position is where in the history to read on.
	Position uint64
	// Expired says that the changes to continue from are forgotten. [Expired] is
	// the answer then, and nothing else is shown.
	Expired bool

	filter filter
}

// EventType is the type of an event of a watch, as the API writes it.
type EventType string

// Types of events.
const (
	EventTypeAdded    EventType = "ADDED"
	EventTypeModified EventType = "MODIFIED"
	EventTypeDeleted  EventType = "DELETED"
)

// Watch begins a watch with the meaning that the API gives to ListOptions. No
// resourceVersion or "0" begins with what there is, any other with the changes
// after it. sendInitialEvents begins with what there is and a bookmark behind
// it.
func (s *Server) Watch(
	gvr schema.GroupVersionResource, namespace string, options metav1.ListOptions,
) (Watch, error) {
	f, err := s.filter(gvr, options)
	if err != nil {
		return Watch{}, err
	}
	f.namespace = namespace
	if options.SendInitialEvents != nil && options.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan {
		kind := schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}
		return Watch{}, apierrors.NewInvalid(kind, "", field.ErrorList{
			field.Forbidden(field.NewPath("resourceVersionMatch"), "sendInitialEvents requires NotOlderThan"),
		})
	}
	version, err := parseVersion(options.ResourceVersion)
	if err != nil {
		return Watch{}, failure(err.Error()) // a list of it is 400
	}
	w, now, err := s.begin(gvr, namespace, version, options)
	if err == nil && version > now {
		err = tooLarge(version, now)
	}
	w.filter = f
	return w, err
}

func (s *Server) begin(
	gvr schema.GroupVersionResource, namespace string, version uint64, options metav1.ListOptions,
) (Watch, uint64, error) {
	initial := version == 0
	if options.SendInitialEvents != nil {
		initial = *options.SendInitialEvents
	}
	if !initial {
		position, now, ok := s.store.Resume(gvr, version)
		return Watch{Position: position, Expired: !ok}, now, nil
	}
	entries, position, now := s.store.Begin(gvr, namespace)
	w := Watch{Initial: Sorted[runtime.Object](entries), Position: position}
	if options.SendInitialEvents == nil || !options.AllowWatchBookmarks {
		return w, now, nil
	}
	object, err := s.kinds.new(gvr)
	if err != nil {
		return Watch{}, now, err
	}
	MetaOf(object).SetResourceVersion(formatVersion(now))
	MetaOf(object).SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	w.Bookmark = object
	return w, now, nil
}

// Matches reports whether the watch shows an object.
func (w Watch) Matches(object runtime.Object) bool { return w.filter.matches(object) }

// Event translates a change for this watch, which sees only what it selects. An
// object that comes to match is added. One that no longer does is deleted, with
// its last matching state under the new version. The object is a copy. ok is
// false when the change does not show.
func (w Watch) Event(r Record) (kind EventType, object runtime.Object, ok bool) {
	before := r.Previous != nil && w.Matches(r.Previous)
	after := !r.Deleted && w.Matches(r.Object)
	switch {
	case after && before:
		return EventTypeModified, r.Object.DeepCopyObject(), true
	case after:
		return EventTypeAdded, r.Object.DeepCopyObject(), true
	case before && r.Deleted:
		return EventTypeDeleted, r.Object.DeepCopyObject(), true
	case before:
		last := r.Previous.DeepCopyObject()
		MetaOf(last).SetResourceVersion(formatVersion(r.Version))
		return EventTypeDeleted, last, true
	}
	return "", nil, false
}

// Expired is what a watch is told that cannot be continued: 410, list again.
func Expired() *metav1.Status {
	gone := apierrors.NewResourceExpired("the requested resourceVersion is too old: later changes are no longer kept")
	return &gone.ErrStatus
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
// example. Reflectors know the cause and list again.
func tooLarge(version, now uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", version, now), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}
