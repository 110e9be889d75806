package apiserver

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key is the identity of an object within its resource.
type Key struct {
	Namespace, Name string
}

// KeyOf returns the key of an object.
func KeyOf(object metav1.Object) Key {
	return Key{object.GetNamespace(), object.GetName()}
}

func (k Key) compare(other Key) int {
	if c := cmp.Compare(k.Namespace, other.Namespace); c != 0 {
		return c
	}
	return cmp.Compare(k.Name, other.Name)
}

// MetaOf returns the metadata of an object. Every type that has a typed client
// has metadata, so its absence is a fault of the program and panics.
func MetaOf(object runtime.Object) metav1.Object {
	m, err := meta.Accessor(object)
	if err != nil {
		panic(fmt.Sprintf("apiserver: %T: %v", object, err))
	}
	return m
}

// Store keeps the objects of a [Server]. [Objects] is one. A caller with
// several goroutines wraps it in a lock. A Server reads, computes and commits
// in separate calls, and computes again when another write came between.
type Store interface {
	// Get returns a stored object, which must not be modified.
	Get(resource schema.GroupVersionResource, k Key) (runtime.Object, bool)
	// Snapshot returns the stored objects of a namespace in no order, and the
	// version at which this is all there is. An empty namespace stands for all.
	Snapshot(resource schema.GroupVersionResource, namespace string) ([]Entry, uint64)
	// NextID returns a number that no object has had.
	NextID() uint64
	// Commit makes a change if Old is still what is stored, and reports whether
	// it did.
	Commit(change Change) bool
	// Resume returns where in the history a watch begins that has seen a version,
	// false when later changes are forgotten; and the current version.
	Resume(resource schema.GroupVersionResource, seen uint64) (position, version uint64, ok bool)
	// Begin is Snapshot and, in the same step, the position after it.
	Begin(resource schema.GroupVersionResource, namespace string) (entries []Entry, position, version uint64)
}

// Entry is a stored object and its key.
type Entry struct {
	Key    Key
	Object runtime.Object
}

// Change is one step of an object: from Old to Next, or away.
type Change struct {
	Resource schema.GroupVersionResource
	Key      Key
	At       time.Time
	Old      runtime.Object // what is stored now; nil: nothing
	Next     runtime.Object // what to store; nil: remove Old
	// Last, when not nil, removes the object in the same step, after Next if there
	// is one. It is a copy of the last state for watches, and the store's from
	// then on.
	Last runtime.Object
}

// Limits bounds what is kept besides the objects. Zero is the default.
type Limits struct {
	// History is how many changes of each resource are kept at least. The default
	// is 65,536.
	History uint
	// Events is how many objects of the resource events are kept. An older one is
	// deleted, as its time to live does elsewhere. The default is 1,000.
	Events uint
}

const (
	defaultHistory = 1 << 16
	defaultEvents  = 1000
)

// Objects is the etcd of a [Server]: objects, one version counter, and the
// history of changes of each resource. A stored object is never modified.
// Reading one costs no copy, and a pointer tells whether it has changed since.
// It is not safe for concurrent use.
type Objects struct {
	limits    Limits
	version   uint64
	created   uint64
	resources map[schema.GroupVersionResource]*resource
}

// resource is what is stored under one plural name.
type resource struct {
	objects map[Key]runtime.Object
	history history
	newest  *ring // bounds the objects; nil: nothing does
}

// NewObjects returns an empty store.
func NewObjects(limits Limits) *Objects {
	if limits.History == 0 {
		limits.History = defaultHistory
	}
	if limits.Events == 0 {
		limits.Events = defaultEvents
	}
	// An empty store has a version too: "0" means any to a watch.
	return &Objects{limits: limits, version: 1, resources: map[schema.GroupVersionResource]*resource{}}
}

func (o *Objects) resource(gvr schema.GroupVersionResource) *resource {
	r, ok := o.resources[gvr]
	if !ok {
		r = &resource{objects: map[Key]runtime.Object{}, history: history{limit: int(o.limits.History)}}
		if gvr.Resource == "events" {
			r.newest = newRing(int(o.limits.Events))
		}
		o.resources[gvr] = r
	}
	return r
}

// NextID implements [Store]. Identities are derived from a counter, not drawn,
// so that the same requests in the same order give the same objects.
func (o *Objects) NextID() uint64 {
	o.created++
	return o.created
}

// Get implements [Store].
func (o *Objects) Get(gvr schema.GroupVersionResource, k Key) (runtime.Object, bool) {
	object, ok := o.resource(gvr).objects[k]
	return object, ok
}

// Snapshot implements [Store].
func (o *Objects) Snapshot(gvr schema.GroupVersionResource, namespace string) ([]Entry, uint64) {
	r := o.resource(gvr)
	entries := make([]Entry, 0, len(r.objects))
	for k, object := range r.objects {
		if namespace == "" || k.Namespace == namespace {
			entries = append(entries, Entry{k, object})
		}
	}
	return entries, o.version
}

// Sorted returns the objects of a type by namespace and name. It needs no lock,
// unlike Snapshot. It sorts the entries themselves.
func Sorted[O any](entries []Entry) []O {
	slices.SortFunc(entries, func(a, b Entry) int { return a.Key.compare(b.Key) })
	objects := make([]O, 0, len(entries))
	for _, e := range entries {
		if object, ok := e.Object.(O); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// Commit implements [Store]. It sets the resourceVersion of Next and Last,
// which must not be shared.
func (o *Objects) Commit(c Change) bool {
	r := o.resource(c.Resource)
	if r.objects[c.Key] != c.Old {
		return false
	}
	if c.Next != nil {
		o.put(r, c)
	}
	if c.Last != nil {
		o.drop(r, c.Key, c.At, c.Last)
	}
	return true
}

func (o *Objects) put(r *resource, c Change) {
	o.stamp(c.Next)
	r.objects[c.Key] = c.Next
	r.history.append(Record{Version: o.version, At: c.At, Object: c.Next, Previous: c.Old})
	if c.Old == nil && r.newest != nil {
		o.expire(r, c.At, r.newest.push(c.Key, MetaOf(c.Next).GetUID()))
	}
}

func (o *Objects) drop(r *resource, k Key, at time.Time, last runtime.Object) {
	previous := r.objects[k]
	delete(r.objects, k)
	o.stamp(last)
	r.history.append(Record{Version: o.version, At: at, Object: last, Previous: previous, Deleted: true})
}

// expire drops the object that has left a bounded resource's ring, unless it
// is gone already.
func (o *Objects) expire(r *resource, at time.Time, out slot) {
	object, ok := r.objects[out.key]
	if !ok || MetaOf(object).GetUID() != out.uid {
		return
	}
	o.drop(r, out.key, at, object.DeepCopyObject())
}

func (o *Objects) stamp(object runtime.Object) {
	MetaOf(object).SetResourceVersion(o.NextVersion())
}

// Version returns the version of the last change.
func (o *Objects) Version() uint64 { return o.version }

// NextVersion returns the version for a write to an object that an edge keeps
// itself, in the one order of all writes.
func (o *Objects) NextVersion() string {
	o.version++
	return formatVersion(o.version)
}

func formatVersion(version uint64) string {
	return strconv.FormatUint(version, 10)
}

// Begin implements [Store].
func (o *Objects) Begin(gvr schema.GroupVersionResource, namespace string) ([]Entry, uint64, uint64) {
	entries, version := o.Snapshot(gvr, namespace)
	return entries, o.resource(gvr).history.end(), version
}

// Resume implements [Store]. A watch that has seen version zero wants only what
// comes from now on.
func (o *Objects) Resume(gvr schema.GroupVersionResource, seen uint64) (position, version uint64, ok bool) {
	h := &o.resource(gvr).history
	if seen == 0 {
		return h.end(), o.version, true
	}
	position, ok = h.after(seen)
	return position, o.version, ok
}

// Read copies changes from a position on into buffer and returns how many, or
// false when the change at that position is forgotten.
func (o *Objects) Read(gvr schema.GroupVersionResource, position uint64, buffer []Record) (int, bool) {
	return o.resource(gvr).history.read(position, buffer)
}

// Records returns the changes of a resource that are still kept, oldest first.
func (o *Objects) Records(gvr schema.GroupVersionResource) []Record {
	return slices.Clone(o.resource(gvr).history.records)
}
