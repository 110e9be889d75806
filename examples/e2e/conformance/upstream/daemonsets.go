// Package upstream runs the DaemonSet controller of k8s.io/kubernetes in caches
// that are filled by hand, one sync at a time. Its clock stands still unless it
// is set. Nothing of the controller is copied or replaced: it is what its
// exported constructor returns.
//
// Its sync is not exported. But a sync begins with a look-up of the DaemonSet.
// So a lister that lets one made-up DaemonSet wait holds up the controller's
// only worker. What is queued behind it is done when the worker comes back to
// it.
package upstream

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
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
		client:  &client{closed: ctx.Done()},
		stop:    stop,
		stopped: make(chan struct{}),
	}
	controller, err := upstreamdaemon.NewDaemonSetsController(ctx,
		daemonSetInformer{c.Sets, c.gate},
		revisionInformer{c.Revisions},
		podInformer{c.Pods},
		nodeInformer{c.Nodes},
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

// Forget drops what the controller expects to see of a DaemonSet after its last
// sync, as if the set had been deleted and made again.
func (c *DaemonSets) Forget(set *appsv1.DaemonSet) {
	c.Sets.Deleted(set)
	c.Sets.Put(set)
}

// gateSet is the DaemonSet at which the worker waits. It does not exist.
var gateSet = &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "gate", Name: "gate"}}

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
	nodeInformer     struct{ *Store }
)

func (i daemonSetInformer) Lister() appslisters.DaemonSetLister {
	return gatedLister{appslisters.NewDaemonSetLister(i.indexer), i.gate}
}

func (i revisionInformer) Lister() appslisters.ControllerRevisionLister {
	return appslisters.NewControllerRevisionLister(i.indexer)
}

func (i podInformer) Lister() corelisters.PodLister { return corelisters.NewPodLister(i.indexer) }

func (i nodeInformer) Lister() corelisters.NodeLister { return corelisters.NewNodeLister(i.indexer) }

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
