package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
	"github.com/kubelife/lifecycle/timedqueue"
)

// ErrInvalidConfig is wrapped by each error of [Config.Validate].
var ErrInvalidConfig = errors.New("invalid node lifecycle runner config")

const (
	defaultWorkers = 16
	defaultTimeout = 30 * time.Second
	defaultPeriod  = 5 * time.Second
	// probePeriod is --leader-elect-retry-period of kube-controller-manager, in
	// which a leader's lease is written.
	probePeriod = 2 * time.Second
	// defaultSightTimeout is --node-blind-after, and leastSightTimeout what two
	// periods of the probe need with a second to answer.
	defaultSightTimeout = 6 * time.Second
	leastSightTimeout   = 2*probePeriod + time.Second
	defaultRequests     = rate.Limit(20)
	defaultBurst        = 30
)

// Config is what a [Runner] needs. Cluster or Client is required.
type Config struct {
	// Controller says what is done, and how fast. Its Requests are the only limit
	// of the requests of tasks; zero means 20 a second and 30 at once, as
	// --kube-api-qps does, and rate.Inf no limit. Zero for its Health.SightTimeout
	// means 6 seconds: silence counts only while heartbeats could be stored.
	Controller controller.Config
	// CountAllSilence counts silence also while the API server does not answer, as
	// kube-controller-manager does: living nodes are declared then. It is not
	// given with a SightTimeout.
	CountAllSilence bool
	// Cluster says how to reach the API server. It is copied. Its QPS and Burst
	// are not used.
	Cluster *rest.Config
	// Client is a client of the API server, in place of Cluster: for example
	// client-go's fake one in a test. A real one should have no limit of its own,
	// and a transport that is wrapped by eviction.WithoutRetryAfter.
	Client kubernetes.Interface
	// Acting is what tasks read and write with. Nil means Client, which then only
	// informers use.
	Acting *Clients
	// Evict makes what makes a pod leave its node. Nil means a deletion, as in
	// kube-controller-manager.
	Evict func(Clients) (eviction.Action, error)
	// Keep copies what the functions of Controller read of a node or pod, besides
	// what every controller does, to the object that a cache keeps. For example
	//
	//	func(kept, object metav1.Object) { kept.SetAnnotations(object.GetAnnotations()) }
	//
	// Nil keeps the labels of nodes, and what package edge lists. Several goroutines
	// call it at a time.
	Keep edge.Keep
	// View shows the controller other nodes and pods than the cluster has. Nil
	// shows them as they are.
	View edge.View
	// See is shown each object before a cache trims it. It must not keep or change
	// it. Several goroutines call it at a time. Nil does nothing.
	See func(object any)
	// Workers is how many tasks are performed at a time. Zero means 16.
	Workers int
	// Timeout bounds one task. Zero means 30 seconds.
	Timeout time.Duration
	// Period is how often all nodes are looked at again, for safety: nothing waits
	// for that. Zero means 5 seconds.
	Period time.Duration
	// Probe names a Lease that Run writes every two seconds, and makes if it is not
	// there, unless CountAllSilence. Its answers show
	// whether heartbeats can be stored while no node is heard; without them a small
	// cluster whose nodes all fall silent looks like an API server that does not
	// answer. Empty means nodelifecycle-probe, in kube-system. Observe and Act
	// write none: with leader election the leader's Lease tells, see
	// [Runner.Answered].
	Probe types.NamespacedName
	// Passed is told how long such a look has held the controller. Nil does
	// nothing.
	Passed func(took time.Duration)
	// Record takes the Events that the controller wants recorded. Nil drops them.
	Record func(controller.Record)
	// Finished is that of the dispatcher: it is told of each task that has ended,
	// also of one that did not return. Nil means none.
	Finished func(context.Context, timedqueue.Finished)
}

// Clients are what tasks read and write with.
type Clients struct {
	Nodes interface {
		edge.Nodes
		eviction.NodeClient
	}
	Pods   func(namespace string) eviction.EvictionClient
	Leases edge.Leases
}

// ClientsOf returns the clients of an API server.
func ClientsOf(client kubernetes.Interface) Clients {
	return Clients{
		Nodes:  client.CoreV1().Nodes(),
		Pods:   func(namespace string) eviction.EvictionClient { return client.CoreV1().Pods(namespace) },
		Leases: client.CoordinationV1().Leases(corev1.NamespaceNodeLease),
	}
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	problems := []error{c.Controller.Validate()}
	invalid := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%w: %s", ErrInvalidConfig, fmt.Sprintf(format, args...)))
	}
	switch {
	case c.Cluster == nil && c.Client == nil:
		invalid("Cluster and Client are nil, want how to reach the API server")
	case c.Cluster != nil && c.Client != nil:
		invalid("Cluster and Client are set, want one of them")
	}
	if a := c.Acting; a != nil && (a.Nodes == nil || a.Pods == nil || a.Leases == nil) {
		invalid("Acting has a nil field, want Nodes, Pods and Leases")
	}
	if sight := c.Controller.Health.SightTimeout; c.CountAllSilence && sight != 0 {
		invalid("CountAllSilence is set, and Controller.Health.SightTimeout is %v, want one of them", sight)
	}
	if c.Workers < 0 {
		invalid("Workers is %d, want zero or more", c.Workers)
	}
	for _, field := range []struct {
		name  string
		value time.Duration
	}{{"Timeout", c.Timeout}, {"Period", c.Period}} {
		if field.value < 0 {
			invalid("%s is %v, want zero or more", field.name, field.value)
		}
	}
	return errors.Join(problems...)
}

// deletion is the default of Config.Evict.
func deletion(clients Clients) (eviction.Action, error) {
	return edge.NewDeletion(eviction.DeleterConfig{
		Pods: func(namespace string) eviction.PodClient { return clients.Pods(namespace) },
	})
}
