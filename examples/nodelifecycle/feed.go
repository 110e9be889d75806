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
	nodes, nodeErr := handle(f.cluster.Core().V1().Nodes().Informer(),
		func(node *corev1.Node) { locked(func(now time.Time) { c.ObserveNode(now, node) }) },
		func(node *corev1.Node) { locked(func(now time.Time) { c.ForgetNode(now, node.Name) }) })
	leases, leaseErr := handle(f.leases.Coordination().V1().Leases().Informer(),
		func(lease *coordinationv1.Lease) { locked(func(now time.Time) { c.ObserveLease(now, lease) }) },
		func(lease *coordinationv1.Lease) { locked(func(time.Time) { c.ForgetLease(lease.Name) }) })
	pods, podErr := handle(f.cluster.Core().V1().Pods().Informer(),
		func(pod *corev1.Pod) { locked(func(now time.Time) { c.ObservePod(now, pod) }) },
		func(pod *corev1.Pod) { locked(func(time.Time) { c.ForgetPod(pod.UID) }) })
	if err := errors.Join(nodeErr, leaseErr, podErr); err != nil {
		return err
	}
	f.synced = []cache.InformerSynced{nodes.HasSynced, leases.HasSynced, pods.HasSynced}
	return nil
}

// handle registers what to do when an object of a type is seen or gone.
func handle[T any](informer cache.SharedIndexInformer, seen, gone func(T)) (cache.ResourceEventHandlerRegistration, error) {
	typed := func(do func(T)) func(any) {
		return func(object any) {
			if last, missed := object.(cache.DeletedFinalStateUnknown); missed {
				object = last.Obj
			}
			if known, ok := object.(T); ok {
				do(known)
			}
		}
	}
	return informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    typed(seen),
		UpdateFunc: func(_, object any) { typed(seen)(object) },
		DeleteFunc: typed(gone),
	})
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
