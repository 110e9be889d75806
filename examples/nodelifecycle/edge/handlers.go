package edge

import (
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/timedqueue/feed"
)

// Handlers feed a controller with what informers report. Each is to be added to
// the informer of its type.
//
// Nodes.Wrote and Pods.Wrote take each node and pod that the API server has
// returned to an action, before the action ends. The controller observes it, and
// until the watch shows it no older one. They must be called outside of what
// handlers pass to observe.
type Handlers struct {
	Nodes *feed.Handler[*corev1.Node]
	// Leases must be given those of the namespace kube-node-lease and no others.
	Leases cache.ResourceEventHandler
	// Pods may be given pods that are not bound yet, which count for nothing.
	Pods *feed.Handler[*corev1.Pod]
}

// Stores are those of the informers; see feed.Config.
type Stores struct{ Nodes, Pods feed.Store }

// Observe runs a turn of a controller at once, while nothing else uses it, and
// passes it the time. A program takes the lock of its dispatcher and reads the
// clock under it. A simulator passes its own time. After the turn and before
// anything else uses the controller, poll returns whether it has to be polled
// again, as timedqueue.Dispatcher.UpdateIf wants to know. A turn does not
// return that itself, because it would take one more closure for each report.
type Observe func(turn func(now time.Time), poll func() bool)

// NewHandlers returns the handlers that feed c. They touch c only inside what
// they pass to observe. One report is one call of observe.
// They must be told of each object that the API server has returned; see
// [Handlers].
func NewHandlers(c *controller.Controller, stores Stores, observe Observe) (Handlers, error) {
	return NewViewedHandlers(c, nil, stores, observe)
}

// A View shows the controller other nodes and pods than the cluster has. Its
// methods are called inside what handlers pass to observe. With a node may
// change how some pods are shown, which ObserveNode returns as well.
type View interface {
	ObserveNode(now time.Time, node *corev1.Node) (*corev1.Node, []*corev1.Pod)
	ForgetNode(now time.Time, node *corev1.Node)
	ObservePod(now time.Time, pod *corev1.Pod) *corev1.Pod
	ForgetPod(now time.Time, pod *corev1.Pod)
}

// plainView shows them as they are.
type plainView struct{}

func (plainView) ObserveNode(_ time.Time, node *corev1.Node) (*corev1.Node, []*corev1.Pod) {
	return node, nil
}
func (plainView) ForgetNode(time.Time, *corev1.Node)                  {}
func (plainView) ObservePod(_ time.Time, pod *corev1.Pod) *corev1.Pod { return pod }
func (plainView) ForgetPod(time.Time, *corev1.Pod)                    {}

// NewViewedHandlers returns handlers like those of NewHandlers, which feed c
// with nodes and pods as a view shows them. Nil shows them as they are.
func NewViewedHandlers(
	c *controller.Controller, view View, stores Stores, observe Observe,
) (Handlers, error) {
	if view == nil {
		view = plainView{}
	}
	poll := false // since asked was called last
	asked := func() bool {
		asks := poll
		poll = false
		return asks
	}
	update := func(turn func(now time.Time)) { observe(turn, asked) }
	nodes, nodeErr := feed.NewHandler(feed.Config[*corev1.Node]{
		Update: update, Store: stores.Nodes,
		Seen: func(now time.Time, node *corev1.Node) {
			shown, pods := view.ObserveNode(now, node)
			c.ObserveNode(now, shown)
			for _, pod := range pods {
				c.ObservePod(now, pod)
			}
			poll = true
		},
		Gone: func(now time.Time, node *corev1.Node) {
			view.ForgetNode(now, node)
			c.ForgetNode(now, node.Name)
			poll = true
		},
	})
	leases, leaseErr := feed.NewHandler(feed.Config[*coordinationv1.Lease]{
		Update: update,
		Seen: func(now time.Time, lease *coordinationv1.Lease) {
			poll = c.ObserveLease(now, lease) || poll
		},
		Gone: func(now time.Time, lease *coordinationv1.Lease) {
			c.ForgetLease(now, lease.Name)
			poll = true
		},
	})
	pods, podErr := feed.NewHandler(feed.Config[*corev1.Pod]{
		Update: update, Store: stores.Pods,
		Seen: func(now time.Time, pod *corev1.Pod) {
			c.ObservePod(now, view.ObservePod(now, pod))
			poll = true
		},
		Gone: func(now time.Time, pod *corev1.Pod) {
			view.ForgetPod(now, pod)
			c.ForgetPod(now, controller.PodID(pod))
			poll = true
		},
	})
	if err := errors.Join(nodeErr, leaseErr, podErr); err != nil {
		return Handlers{}, err
	}
	return Handlers{Nodes: nodes, Leases: leases, Pods: pods}, nil
}
