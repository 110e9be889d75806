// Package upstream runs the DaemonSet controller of k8s.io/kubernetes in caches
// that are filled by hand, one sync at a time. Its clock stands still unless it
// is set. Nothing of the controller is copied or replaced: it is what its
// exported constructor returns.
//
// Its sync is not exported. But a sync begins with a look-up of the DaemonSet.
// So a lister that lets one made-up DaemonSet wait holds up the controller's
// only worker. What is queued behind it is done when the worker comes back to
// it. In the same way a made-up node shows that changes of nodes are done.
package upstream

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	upstreamdaemon "k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/utils/clock"
)

// The waits after failed pods that kube-controller-manager gives the
// controller.
const (
	firstBackoff   = time.Second
	longestBackoff = 15 * time.Minute
)

// DaemonSets is upstream's controller. Its methods are for one goroutine.
type DaemonSets struct {
	// Sets, Revisions, Pods and Nodes are its caches.
	Sets, Revisions, Pods, Nodes *Store

	clock   *handClock
	gate    *gate
	reached chan struct{} // by the worker for nodes, when it looks up gateNode
	client  *client
	stop    context.CancelFunc
	stopped chan struct{}
}

// NewDaemonSets starts the controller. It is to be closed.
func NewDaemonSets(ctx context.Context, now time.Time) (*DaemonSets, error) {
	ctx, stop := context.WithCancel(klog.NewContext(ctx, klog.New(nil)))
	c := &DaemonSets{
		Sets: newStore(), Revisions: newStore(), Pods: newStore(), Nodes: newStore(),
		clock:   &handClock{now: now},
		gate:    &gate{arrived: make(chan struct{}), pass: make(chan struct{}), closed: ctx.Done()},
		reached: make(chan struct{}),
		client:  &client{closed: ctx.Done()},
		stop:    stop,
		stopped: make(chan struct{}),
	}
	controller, err := upstreamdaemon.NewDaemonSetsController(ctx,
		daemonSetInformer{c.Sets, c.gate},
		revisionInformer{c.Revisions},
		podInformer{c.Pods},
		nodeInformer{c.Nodes, c.reached, ctx.Done()},
		c.client,
		flowcontrol.NewFakeBackOff(firstBackoff, longestBackoff, c.clock),
	)
	if err != nil {
		stop()
		return nil, fmt.Errorf("constructing the controller: %w", err)
	}
	go func() {
		defer close(c.stopped)
		controller.Run(ctx, 1)
	}()
	c.Sets.enqueue(gateSet)
	<-c.gate.arrived
	return c, nil
}

// Close stops the controller and waits until it has stopped.
func (c *DaemonSets) Close() {
	c.stop()
	<-c.stopped
}

// SetTime sets its clock.
func (c *DaemonSets) SetTime(now time.Time) { c.clock.set(now) }

// Sync lets it sync one DaemonSet once, whatever it has queued, and returns
// what it has written.
func (c *DaemonSets) Sync(set *appsv1.DaemonSet) Writes {
	c.client.take()
	c.Sets.enqueue(set)
	c.Sets.enqueue(gateSet) // it is being worked on, so it comes after the other
	c.gate.pass <- struct{}{}
	<-c.gate.arrived
	return c.client.take()
}

// ChangeNode puts another version of a node into the cache and tells the
// controller. It returns when the controller has asked for each DaemonSet
// whether it belongs on the node. The labels or taints must differ, or the
// controller ignores the change.
func (c *DaemonSets) ChangeNode(old, node *corev1.Node) {
	c.Nodes.Updated(old, node)
	c.Nodes.enqueue(gateNode)
	<-c.reached
}

// Forget drops what the controller expects to see of a DaemonSet after its last
// sync, as if the set had been deleted and made again.
func (c *DaemonSets) Forget(set *appsv1.DaemonSet) {
	c.Sets.Deleted(set)
	c.Sets.Put(set)
}

// gateSet is the DaemonSet at which the worker waits. It does not exist.
var gateSet = &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "gate", Name: "gate"}}

// gateNode is the node that ChangeNode queues last. It does not exist.
var gateNode = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gate"}}

// gate is where the worker waits between syncs.
type gate struct {
	arrived, pass chan struct{}
	closed        <-chan struct{}
}

func (g *gate) wait() {
	select {
	case g.arrived <- struct{}{}:
	case <-g.closed:
		return
	}
	select {
	case <-g.pass:
	case <-g.closed:
	}
}

type gatedLister struct {
	appslisters.DaemonSetLister
	gate *gate
}

func (l gatedLister) DaemonSets(namespace string) appslisters.DaemonSetNamespaceLister {
	if namespace == gateSet.Namespace {
		l.gate.wait()
	}
	return l.DaemonSetLister.DaemonSets(namespace)
}

type (
	daemonSetInformer struct {
		*Store
		gate *gate
	}
	revisionInformer struct{ *Store }
	podInformer      struct{ *Store }
	nodeInformer     struct {
		*Store
		reached chan<- struct{}
		closed  <-chan struct{}
	}
)

func (i daemonSetInformer) Lister() appslisters.DaemonSetLister {
	return gatedLister{appslisters.NewDaemonSetLister(i.indexer), i.gate}
}

func (i revisionInformer) Lister() appslisters.ControllerRevisionLister {
	return appslisters.NewControllerRevisionLister(i.indexer)
}

func (i podInformer) Lister() corelisters.PodLister { return corelisters.NewPodLister(i.indexer) }

func (i nodeInformer) Lister() corelisters.NodeLister {
	return tellingLister{corelisters.NewNodeLister(i.indexer), i}
}

// tellingLister tells when gateNode is looked up.
type tellingLister struct {
	corelisters.NodeLister
	informer nodeInformer
}

func (l tellingLister) Get(name string) (*corev1.Node, error) {
	if name == gateNode.Name {
		select {
		case l.informer.reached <- struct{}{}:
		case <-l.informer.closed:
		}
	}
	return l.NodeLister.Get(name)
}

// handClock stands still unless it is set. Its timers, which are those of the
// real one, are not used.
type handClock struct {
	clock.RealClock
	mu  sync.Mutex
	now time.Time
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}
