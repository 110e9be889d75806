package simulation

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/virtualtime"
)

// Namespace is the one of all pods.
const Namespace = "shop"

func resourceOf(kind invariant.Kind) schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource(kind.String())
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

// cluster is the API server and its clients, except the kubelets.
type cluster struct {
	*virtualtime.Timeline

	random  *rand.Rand
	server  *apiserver.Server
	store   *store
	logs    [invariant.Kinds]virtualtime.Log
	history *invariant.History
	// requests count those of the kubelets, as in "patch pods/status".
	requests map[string]int
	// watching is told of each change.
	watching func(invariant.Kind, virtualtime.Change)
}

func newCluster(seed uint64, start time.Time) *cluster {
	c := &cluster{
		Timeline: virtualtime.NewTimeline(start),
		random:   rand.New(rand.NewPCG(seed, 17)),
		history:  &invariant.History{},
		requests: map[string]int{},
	}
	c.store = &store{Objects: apiserver.NewObjects(apiserver.Limits{}), cluster: c}
	c.server = apiserver.NewServer(c.store, scheme.Scheme)
	return c
}

func (c *cluster) count(request string) { c.requests[request]++ }

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
	for i := range records[:n] {
		s.cluster.stored(kind, changeOf(&records[i]), s.call)
	}
	return true
}

func changeOf(record *apiserver.Record) virtualtime.Change {
	change := virtualtime.Change{Version: record.Version, At: record.At}
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

// stored records a change and shows it to the kubelets.
func (c *cluster) stored(kind invariant.Kind, change virtualtime.Change, by *invariant.Call) {
	c.logs[kind] = append(c.logs[kind], change)
	c.history.Changes = append(c.history.Changes, &invariant.Change{
		Kind: kind, Version: change.Version, At: change.At, Before: change.Before, After: change.After, By: by,
	})
	if c.watching != nil {
		c.watching(kind, change)
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
	slices.SortFunc(objects, func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return objects
}

// changePod stores a changed copy of a pod, as clients do that act on the
// newest state and whose writes no rule refuses.
func (c *cluster) changePod(pod *corev1.Pod, change func(*corev1.Pod)) {
	next := pod.DeepCopy()
	change(next)
	c.store.Commit(apiserver.Change{
		Resource: resourceOf(invariant.Pods), Key: apiserver.KeyOf(pod), At: c.Now(), Old: pod, Next: next,
	})
}

// changeNode stores a changed copy of a node, if there is one.
func (c *cluster) changeNode(name string, change func(*corev1.Node)) {
	node := get[*corev1.Node](c, invariant.Nodes, name)
	if node == nil {
		return
	}
	next := node.DeepCopy()
	if change(next); equality.Semantic.DeepEqual(node, next) {
		return
	}
	c.store.Commit(apiserver.Change{
		Resource: resourceOf(invariant.Nodes), Key: apiserver.KeyOf(node), At: c.Now(), Old: node, Next: next,
	})
}

// deletePod deletes a pod. Without a grace period it is the pod's own.
func (c *cluster) deletePod(name string, grace *int64) {
	key := apiserver.Key{Namespace: Namespace, Name: name}
	options := metav1.DeleteOptions{GracePeriodSeconds: grace}
	_, _ = c.server.Delete(c.Now(), resourceOf(invariant.Pods), key, options) // it may be gone
}
