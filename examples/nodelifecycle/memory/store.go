package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// limits bounds what a store keeps besides the objects.
type limits struct {
	history int // changes of one resource
	events  int // objects of the resource events
}

// key is the identity of an object within its resource.
type key struct {
	namespace, name string
}

func keyOf(object metav1.Object) key {
	return key{object.GetNamespace(), object.GetName()}
}

func (k key) compare(other key) int {
	if c := cmp.Compare(k.namespace, other.namespace); c != 0 {
		return c
	}
	return cmp.Compare(k.name, other.name)
}

// metaOf returns the metadata of an object. Every type that has a typed client
// has metadata, so that its absence is a fault of this package.
func metaOf(object runtime.Object) metav1.Object {
	m, err := meta.Accessor(object)
	if err != nil {
		panic(fmt.Sprintf("memory: %T: %v", object, err))
	}
	return m
}

// store is the etcd of the cluster: objects, one version counter, and per
// resource the history of changes. An object is never modified once it is
// stored, so that reading one costs no copy under the lock, and so that a
// pointer tells whether an object has changed since it was read.
//
// The lock is held for map and slice operations only: patches are computed, and
// objects encoded, compared and sent to watchers, without it.
type store struct {
	limits limits

	mu        sync.Mutex
	version   uint64 // the last resourceVersion that was given out
	created   uint64 // how many identities were given out
	resources map[schema.GroupVersionResource]*resource
	watches   map[*watcher]struct{}
}

// resource is what is stored for one plural name.
type resource struct {
	objects map[key]runtime.Object
	history history
	newest  *ring // nil: any number of objects
}

func newStore(l limits) *store {
	return &store{
		limits: l,
		// etcd's first revision is 1, and 0 means "any" in requests.
		version:   1,
		resources: map[schema.GroupVersionResource]*resource{},
		watches:   map[*watcher]struct{}{},
	}
}

// resource returns what is stored under a plural name. The lock is held.
func (s *store) resource(gvr schema.GroupVersionResource) *resource {
	r, ok := s.resources[gvr]
	if !ok {
		r = &resource{objects: map[key]runtime.Object{}, history: history{limit: s.limits.history}}
		if gvr.Resource == "events" {
			r.newest = newRing(s.limits.events)
		}
		s.resources[gvr] = r
	}
	return r
}

// nextIdentity returns a number that no object has had. Identities are derived
// from a counter, not drawn, so that the same requests in the same order give
// the same cluster.
func (s *store) nextIdentity() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.created++
	return s.created
}

// uid writes a number in the shape of a random UUID.
func uid(n uint64) types.UID {
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", n))
}

// suffix is the five characters that complete a generateName.
func suffix(n uint64) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	var chars [5]byte
	for i := len(chars) - 1; i >= 0; i-- {
		chars[i] = alphabet[n%uint64(len(alphabet))]
		n /= uint64(len(alphabet))
	}
	return string(chars[:])
}

func (s *store) get(gvr schema.GroupVersionResource, k key) (runtime.Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, ok := s.resource(gvr).objects[k]
	return object, ok
}

// list returns the stored objects of a namespace, or of all when it is empty,
// by namespace and name, and the version at which this was all there is.
func (s *store) list(gvr schema.GroupVersionResource, namespace string) ([]runtime.Object, uint64) {
	s.mu.Lock()
	entries, version := s.resource(gvr).snapshot(namespace), s.version
	s.mu.Unlock()
	return sorted(entries), version
}

// change is one step of an object: from old to next, or away.
type change struct {
	resource schema.GroupVersionResource
	key      key
	old      runtime.Object // what is stored now; nil: nothing
	next     runtime.Object // what to store; nil: remove old
	// last, when not nil, removes the object in the same step, after next if there
	// is one. It is a copy of the last state for the watchers, owned by the store
	// from now on.
	last runtime.Object
}

// commit makes a change if old is still what is stored and reports whether it
// did. It sets the resourceVersion of next and last, which must not be shared.
func (s *store) commit(c change) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.resource(c.resource)
	if r.objects[c.key] != c.old {
		return false
	}
	if c.next != nil {
		s.put(r, c)
	}
	if c.last != nil {
		s.drop(r, c.key, c.last)
	}
	return true
}

func (s *store) put(r *resource, c change) {
	s.stamp(c.next)
	r.objects[c.key] = c.next
	r.history.append(record{version: s.version, at: time.Now(), object: c.next, previous: c.old})
	if c.old == nil && r.newest != nil {
		s.expire(r, r.newest.push(c.key, metaOf(c.next).GetUID()))
	}
}

func (s *store) drop(r *resource, k key, last runtime.Object) {
	previous := r.objects[k]
	delete(r.objects, k)
	s.stamp(last)
	r.history.append(record{version: s.version, at: time.Now(), object: last, previous: previous, deleted: true})
}

// expire drops the object that has left a bounded resource's ring, unless it
// is gone already.
func (s *store) expire(r *resource, out slot) {
	object, ok := r.objects[out.key]
	if !ok || metaOf(object).GetUID() != out.uid {
		return
	}
	s.drop(r, out.key, object.DeepCopyObject())
}

func (s *store) stamp(object runtime.Object) {
	s.version++
	metaOf(object).SetResourceVersion(formatVersion(s.version))
}

func formatVersion(version uint64) string {
	return strconv.FormatUint(version, 10)
}

type entry struct {
	key    key
	object runtime.Object
}

// changes returns the changes of a resource that are still kept.
func (s *store) changes(gvr schema.GroupVersionResource) []record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.resource(gvr).history.records)
}

// snapshot returns what is stored in a namespace, in no order: sorting can wait
// until the lock is free.
func (r *resource) snapshot(namespace string) []entry {
	entries := make([]entry, 0, len(r.objects))
	for k, object := range r.objects {
		if namespace == "" || k.namespace == namespace {
			entries = append(entries, entry{k, object})
		}
	}
	return entries
}

func sorted(entries []entry) []runtime.Object {
	slices.SortFunc(entries, func(a, b entry) int { return a.key.compare(b.key) })
	objects := make([]runtime.Object, len(entries))
	for i, e := range entries {
		objects[i] = e.object
	}
	return objects
}
