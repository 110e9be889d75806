package simulation

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/virtualtime"
)

// Namespace is the one of all sets and pods.
const Namespace = "monitoring"

// resourceOf returns the name of a kind at the API server.
func resourceOf(kind invariant.Kind) schema.GroupVersionResource {
	group := corev1.SchemeGroupVersion
	if kind == invariant.Sets || kind == invariant.Revisions {
		group = appsv1.SchemeGroupVersion
	}
	return group.WithResource(kind.String())
}

// kindOf returns the kind of a resource, and false for one that nothing
// watches.
func kindOf(resource schema.GroupVersionResource) (invariant.Kind, bool) {
	for kind := range invariant.Kinds {
		if resourceOf(kind) == resource {
			return kind, true
		}
	}
	return 0, false
}

// cluster is the API server and all its clients except the controller.
type cluster struct {
	*virtualtime.Timeline

	random   *rand.Rand
	server   *apiserver.Server
	store    *store
	history  *invariant.History
	kubelets Kubelets
	logs     [invariant.Kinds]virtualtime.Log
	events   uint64 // of the history
	// watching is told of each change.
	watching func(*invariant.Change)
	nodes    map[string]*machine
	unready  map[string]time.Duration // until when a pod stays not ready, by UID
	stale    map[types.UID]bool       // pods that were updated in place and are yet to restart
	names    int
}

// machine is what a node is besides its object.
type machine struct {
	deadUntil time.Duration // its kubelet does nothing
	failUntil time.Duration // its pods fail
	slow      time.Duration // what a start takes in addition
}

// birth is when the time of each cluster begins.
var birth = time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)

func newCluster(seed uint64, kubelets Kubelets) *cluster {
	c := &cluster{
		Timeline: virtualtime.NewTimeline(birth),
		kubelets: kubelets,
		random:   rand.New(rand.NewPCG(seed, 16)),
		history:  &invariant.History{},
		nodes:    map[string]*machine{},
		unready:  map[string]time.Duration{},
		stale:    map[types.UID]bool{},
	}
	c.store = &store{Objects: apiserver.NewObjects(apiserver.Limits{}), cluster: c}
	c.server = apiserver.NewServer(c.store, scheme.Scheme)
	return c
}

// nextEvent numbers the events of the history.
func (c *cluster) nextEvent() uint64 {
	c.events++
	return c.events
}

// between returns a random time.
func (c *cluster) between(least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(c.random.Int64N(int64(most-least)))
}

// store writes the history of what it stores.
type store struct {
	*apiserver.Objects
	cluster *cluster
	call    *invariant.Call // under way; nil: another client's
	read    [invariant.Kinds]uint64
	version uint64 // of the newest change
}

// Commit implements [apiserver.Store].
func (s *store) Commit(change apiserver.Change) bool {
	if !s.Objects.Commit(change) {
		return false
	}
	kind, watched := kindOf(change.Resource)
	if !watched {
		return true
	}
	// A deletion can be two changes: the terminating state, and the end.
	var records [2]apiserver.Record
	n, _ := s.Read(change.Resource, s.read[kind], records[:])
	s.read[kind] += uint64(n)
	for _, record := range records[:n] {
		s.version = record.Version
		s.cluster.stored(s.changeOf(kind, &record))
	}
	return true
}

func (s *store) changeOf(kind invariant.Kind, record *apiserver.Record) *invariant.Change {
	change := &invariant.Change{Kind: kind, Version: record.Version, At: record.At, By: s.call}
	if record.Previous != nil {
		change.Before = apiserver.MetaOf(record.Previous)
	}
	if record.Deleted {
		change.Before = apiserver.MetaOf(record.Object)
	} else {
		change.After = apiserver.MetaOf(record.Object)
	}
	return change
}

// stored records a change and has all clients react.
func (c *cluster) stored(change *invariant.Change) {
	c.history.Changes = append(c.history.Changes, change)
	c.logs[change.Kind] = append(c.logs[change.Kind], logged(change))
	if c.watching != nil {
		c.watching(change)
	}
	c.react(change)
}

// logged returns a change as watches show it.
func logged(change *invariant.Change) virtualtime.Change {
	return virtualtime.Change{
		Version: change.Version, At: change.At, Before: change.Before, After: change.After,
	}
}

// get returns an object as it is stored, or the zero value.
func get[T runtime.Object](c *cluster, kind invariant.Kind, name string) T {
	key := apiserver.Key{Namespace: Namespace, Name: name}
	if kind == invariant.Nodes {
		key.Namespace = ""
	}
	object, _ := c.store.Get(resourceOf(kind), key)
	typed, _ := object.(T)
	return typed
}

// list returns all objects of a kind by name.
func list[T interface {
	runtime.Object
	metav1.Object
}](c *cluster, kind invariant.Kind) []T {
	entries, _ := c.store.Snapshot(resourceOf(kind), "")
	objects := make([]T, 0, len(entries))
	for _, entry := range entries {
		if typed, ok := entry.Object.(T); ok {
			objects = append(objects, typed)
		}
	}
	slices.SortFunc(objects, func(a, b T) int {
		if a.GetName() < b.GetName() {
			return -1
		}
		return 1
	})
	return objects
}

// put stores the next state of an object, as clients do that act on the newest
// state and whose writes no rule refuses.
func (c *cluster) put(kind invariant.Kind, before, next runtime.Object) {
	change := apiserver.Change{
		Resource: resourceOf(kind), Key: apiserver.KeyOf(apiserver.MetaOf(before)), At: c.Now(), Old: before, Next: next,
	}
	c.store.Commit(change)
}

// drop removes an object at once, whatever its finalizers.
func (c *cluster) drop(kind invariant.Kind, before runtime.Object) {
	c.store.Commit(apiserver.Change{
		Resource: resourceOf(kind), Key: apiserver.KeyOf(apiserver.MetaOf(before)), At: c.Now(), Old: before,
		Last: before.DeepCopyObject(),
	})
}

// changePod stores a changed copy of a pod.
func (c *cluster) changePod(pod *corev1.Pod, change func(*corev1.Pod)) {
	next := pod.DeepCopy()
	change(next)
	c.put(invariant.Pods, pod, next)
}

// number returns a name that no object has had.
func (c *cluster) number() string {
	c.names++
	return strconv.Itoa(c.names)
}
