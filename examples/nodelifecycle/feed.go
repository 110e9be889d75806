package main

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	coordinationlisters "k8s.io/client-go/listers/coordination/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/timedqueue"
)

type dispatcher = timedqueue.Dispatcher[controller.Action, controller.Result]

// feed connects informers with the controller.
type feed struct {
	cluster, leases informers.SharedInformerFactory
	leaseLister     coordinationlisters.LeaseNamespaceLister
	synced          []cache.InformerSynced
}

// newFeed sets up informers that keep only what the controller reads. The
// rival, if there is one, sees nodes before their managed fields are dropped.
func newFeed(client kubernetes.Interface, rival *rival) *feed {
	f := &feed{
		cluster: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(rival.trim)),
		leases: informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithNamespace(corev1.NamespaceNodeLease), informers.WithTransform(trim)),
	}
	f.leaseLister = f.leases.Coordination().V1().Leases().Lister().Leases(corev1.NamespaceNodeLease)
	return f
}

// connect makes every change that the informers see reach the controller.
func (f *feed) connect(d *dispatcher, c *controller.Controller) error {
	locked := func(observe func(now time.Time)) {
		d.Lock()
		defer d.Unlock()
		observe(time.Now())
	}
	return errors.Join(
		handle(f, f.cluster.Core().V1().Nodes().Informer(),
			func(node *corev1.Node) { locked(func(now time.Time) { c.ObserveNode(now, node) }) },
			func(node *corev1.Node) { locked(func(now time.Time) { c.ForgetNode(now, node.Name) }) }),
		handle(f, f.leases.Coordination().V1().Leases().Informer(),
			func(lease *coordinationv1.Lease) { locked(func(now time.Time) { c.ObserveLease(now, lease) }) },
			func(lease *coordinationv1.Lease) { locked(func(time.Time) { c.ForgetLease(lease.Name) }) }),
		handle(f, f.cluster.Core().V1().Pods().Informer(),
			func(pod *corev1.Pod) { locked(func(now time.Time) { c.ObservePod(now, pod) }) },
			func(pod *corev1.Pod) { locked(func(time.Time) { c.ForgetPod(pod.UID) }) }),
	)
}

// handle registers what to do when an object of a type is seen or gone.
func handle[T any](f *feed, informer cache.SharedIndexInformer, seen, gone func(T)) error {
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { seen(object.(T)) },
		UpdateFunc: func(_, object any) { seen(object.(T)) },
		DeleteFunc: func(object any) {
			if unseen, missed := object.(cache.DeletedFinalStateUnknown); missed {
				object = unseen.Obj
			}
			if last, ok := object.(T); ok {
				gone(last)
			}
		},
	})
	if err == nil {
		f.synced = append(f.synced, registration.HasSynced)
	}
	return err
}

// start starts the informers and waits until all that existed has been handed to
// the controller. It returns false when ctx ends before.
func (f *feed) start(ctx context.Context) bool {
	f.cluster.Start(ctx.Done())
	f.leases.Start(ctx.Done())
	return cache.WaitForCacheSync(ctx.Done(), f.synced...)
}

// stop waits for the informers, whose context has ended.
func (f *feed) stop() {
	f.cluster.Shutdown()
	f.leases.Shutdown()
}
