package cluster

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Config is a cluster before anything happens.
type Config struct {
	Network network.Config
	// Namespace is that of calls that name none.
	Namespace string
	// Stored is told of each change of what clients can watch, when it is made.
	// Nil is for a caller that does not want to know.
	Stored func(Write)
}

// A Write is a change of an object. Its objects must not be modified.
type Write struct {
	// Call is the client's call that did it, nil if it was no client's.
	Call    *network.Call
	Kind    network.Kind
	Version uint64
	At      time.Time
	// Before is nil for a creation, and After for a removal.
	Before, After metav1.Object
}

// A Cluster is an API server and its network. It is not safe for concurrent
// use.
type Cluster struct {
	*network.Network

	// Requests counts those of clients, as in "patch pods/status".
	Requests map[string]int

	config Config
	rules  *apiserver.Server
	store  *store
}

// New returns a cluster without objects.
func New(config Config) *Cluster {
	c := &Cluster{config: config, Requests: map[string]int{}}
	c.store = &store{Objects: apiserver.NewObjects(apiserver.Limits{}), cluster: c}
	// No client lists or watches through the rules, which needs types.
	c.rules = apiserver.NewServer(c.store, runtime.NewScheme())
	c.Network = network.New(config.Network, front{c})
	return c
}

// Users returns a client of users, whose requests take no time and never fail
// on their way.
func (c *Cluster) Users() apiserver.Client {
	return apiserver.Client{Server: c.rules, Namespace: c.config.Namespace, Now: c.Now}
}

// Version returns the version of the last change.
func (c *Cluster) Version() uint64 { return c.store.Version() }

// Records returns the changes of a kind, the last 65,536 at least.
func (c *Cluster) Records(kind network.Kind) []apiserver.Record {
	return c.store.Records(kind.Resource())
}

func (c *Cluster) key(kind network.Kind, namespace, name string) apiserver.Key {
	switch kind {
	case network.Nodes:
		return apiserver.Key{Name: name}
	case network.Leases:
		return apiserver.Key{Namespace: corev1.NamespaceNodeLease, Name: name}
	default:
		return apiserver.Key{Namespace: cmp.Or(namespace, c.config.Namespace), Name: name}
	}
}

// An Object is one that is stored.
type Object interface {
	runtime.Object
	metav1.Object
}

// Get returns an object as it is stored, or the zero value.
func Get[T Object](c *Cluster, kind network.Kind, name string) T {
	object, _ := c.store.Get(kind.Resource(), c.key(kind, "", name))
	typed, _ := object.(T)
	return typed
}

// List returns all objects of a kind by namespace and name.
func List[T Object](c *Cluster, kind network.Kind) []T {
	entries, _ := c.store.Snapshot(kind.Resource(), "")
	return apiserver.Sorted[T](entries)
}

// Edit stores a changed copy of an object, as clients do that act on the newest
// state and whose writes no rule refuses.
func Edit[T Object](c *Cluster, kind network.Kind, object T, change func(T)) {
	next, _ := object.DeepCopyObject().(T)
	if change(next); equality.Semantic.DeepEqual(object, next) {
		return
	}
	step := apiserver.Change{
		Resource: kind.Resource(), Key: apiserver.KeyOf(object), At: c.Now(), Old: object, Next: next,
	}
	if !c.store.Commit(step) {
		panic(fmt.Sprintf("cluster: %s %s is not what was changed", kind, object.GetName()))
	}
}

// Delete deletes an object as a user does. Without a grace period it is the
// object's own. It may be gone.
func (c *Cluster) Delete(kind network.Kind, name string, grace *int64) {
	options := metav1.DeleteOptions{GracePeriodSeconds: grace}
	_, _ = c.rules.Delete(c.Now(), kind.Resource(), c.key(kind, "", name), options)
}

// front is the cluster as the network's server.
type front struct{ *Cluster }

var _ network.Server = front{}

// Process does what a call asks for.
func (f front) Process(call *network.Call) {
	f.Requests[call.Request()]++
	f.store.call = call
	resource, key := call.Kind.Resource(), f.key(call.Kind, call.Namespace, call.Name)
	options := apiserver.WriteOptions{Subresource: call.Subresource}
	switch call.Verb {
	case network.Get:
		call.Reply(f.rules.Get(resource, key))
	case network.Create:
		call.Reply(f.rules.Create(f.Now(), resource, key.Namespace, call.Object, options))
	case network.Update:
		call.Reply(f.rules.Update(f.Now(), resource, key.Namespace, call.Object, options))
	case network.Patch:
		call.Reply(f.rules.Patch(f.Now(), resource, key, call.PatchType, call.Data, options))
	case network.Delete:
		_, call.Err = f.rules.Delete(f.Now(), resource, key, metav1.DeleteOptions{
			Preconditions: call.Preconditions, GracePeriodSeconds: call.GracePeriodSeconds,
		})
	default:
		call.Err = fmt.Errorf("the cluster has no %s of %s", call.Verb, call.Kind)
	}
	f.store.call = nil
}

// All returns what there is of a kind.
func (f front) All(kind network.Kind) network.Listing {
	list := network.Listing{Version: f.Version()}
	for _, object := range List[Object](f.Cluster, kind) {
		list.Objects = append(list.Objects, network.Change{Kind: kind, Name: object.GetName(), Object: object})
	}
	return list
}

// Number returns none: a cluster is small.
func (front) Number(network.Kind, string) int { return 0 }

// Lens returns none.
func (front) Lens(network.Kind) network.Lens { return nil }
