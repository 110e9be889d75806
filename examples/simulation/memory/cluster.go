package memory

import (
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

// Cluster is an API server in memory and, through the embedded [Client], a
// kubernetes.Interface for it. All methods are safe for concurrent use. It
// starts no goroutine but one per open watch, which ends with the watch.
type Cluster struct {
	*Client
	server *server
}

// NewCluster returns an empty cluster: no node, no namespace.
//
// It keeps at least the last 65,536 changes of every resource for watches, and
// the last 1,000 events. An older event is deleted, as its time to live does
// elsewhere.
func NewCluster() *Cluster {
	return newCluster(apiserver.Limits{})
}

func newCluster(limits apiserver.Limits) *Cluster {
	objects := newStore(limits)
	s := &server{Server: apiserver.NewServer(objects, scheme.Scheme), store: objects}
	return &Cluster{Client: newClient(s), server: s}
}

// NewClient returns another client of the same cluster with request counts of
// its own, so that a controller's calls can be told from the fleet's.
func (c *Cluster) NewClient() *Client {
	return newClient(c.server)
}

// DropWatches ends every open watch, as a restart of the API server does.
// Informers connect again after a second or so; they may skip states that an
// object has had in the meantime, but end with its last.
func (c *Cluster) DropWatches() {
	for _, w := range c.server.store.openWatches() {
		w.Stop()
	}
}

var pods = corev1.SchemeGroupVersion.WithResource("pods")

// server is what all clients of a cluster share.
type server struct {
	*apiserver.Server
	store *store
}

// Client is one client of a [Cluster]. It is a kubernetes.Interface, safe for
// concurrent use, and counts its requests.
type Client struct {
	kubernetes.Interface

	mu       sync.Mutex
	requests map[Request]int
}

// Request is the kind of a request.
type Request struct {
	// Verb is get, list, watch, create, update, patch, delete or
	// delete-collection.
	Verb string
	// Resource is the plural name, such as "nodes".
	Resource string
	// Subresource is "status", "binding", "eviction", or empty for the resource
	// itself.
	Subresource string
}

// String returns the request as in "patch nodes/status".
func (r Request) String() string {
	if r.Subresource == "" {
		return r.Verb + " " + r.Resource
	}
	return r.Verb + " " + r.Resource + "/" + r.Subresource
}

// Requests returns how many requests of each kind this client has sent so far,
// those that were refused included. The map is the caller's.
func (c *Client) Requests() map[Request]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.requests)
}

func (c *Client) count(action clienttesting.Action) {
	request := Request{
		Verb:        action.GetVerb(),
		Resource:    action.GetResource().Resource,
		Subresource: action.GetSubresource(),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[request]++
}

func newClient(s *server) *Client {
	//nolint:staticcheck // NewClientset would parse the schema of all kinds first.
	clientset := fake.NewSimpleClientset()
	clientset.ReactionChain, clientset.WatchReactionChain = nil, nil // not its own objects
	c := &Client{Interface: clientset, requests: map[Request]int{}}
	(&reactor{fake: &clientset.Fake, server: s, count: c.count}).install()
	return c
}

var _ kubernetes.Interface = &Cluster{}

// notServed is the answer to what a real server has and this one does not. It
// is 405, never 404, which a controller would take for a missing object.
func notServed(action clienttesting.Action) error {
	resource := action.GetResource().GroupResource()
	if sub := action.GetSubresource(); sub != "" {
		resource.Resource += "/" + sub
	}
	return apierrors.NewMethodNotSupported(resource, action.GetVerb())
}
