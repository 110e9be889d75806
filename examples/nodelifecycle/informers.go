package main

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
	"github.com/kubelife/lifecycle/timedqueue"
)

type dispatcher = timedqueue.Dispatcher[controller.Action, controller.Result]

// feed connects informers with the controller.
type feed struct {
	cluster, leases informers.SharedInformerFactory
	synced          []cache.InformerSynced
}

// newFeed sets up informers that keep only what the controller reads. The
// rival, if there is one, sees nodes before their managed fields are dropped.
func newFeed(client kubernetes.Interface, rival *rival) *feed {
	f := &feed{
		cluster: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(rival.trim)),
		leases: informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithNamespace(corev1.NamespaceNodeLease), informers.WithTransform(edge.Trim)),
	}
	return f
}

// connect makes every change that the informers see reach the controller.
func (f *feed) connect(d *dispatcher, c *controller.Controller) error {
	handlers := edge.NewHandlers(c, func(observe func(now time.Time)) {
		d.Update(func() { observe(time.Now()) })
	})
	nodes, nodeErr := f.cluster.Core().V1().Nodes().Informer().AddEventHandler(handlers.Nodes)
	leases, leaseErr := f.leases.Coordination().V1().Leases().Informer().AddEventHandler(handlers.Leases)
	pods, podErr := f.cluster.Core().V1().Pods().Informer().AddEventHandler(handlers.Pods)
	if err := errors.Join(nodeErr, leaseErr, podErr); err != nil {
		return err
	}
	f.synced = []cache.InformerSynced{nodes.HasSynced, leases.HasSynced, pods.HasSynced}
	return nil
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
