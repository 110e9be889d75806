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
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/shadow"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/timedqueue/feed"
)

type dispatcher = timedqueue.Dispatcher

// informerSet connects informers with the controller.
type informerSet struct {
	cluster, leases informers.SharedInformerFactory
	handlers        edge.Handlers
	synced          []cache.InformerSynced
}

// newInformerSet sets up informers that keep only what the controller reads.
// The rival, if there is one, sees nodes before their managed fields are
// dropped.
func newInformerSet(client kubernetes.Interface, rival *process.Rival) *informerSet {
	return &informerSet{
		cluster: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(trim(rival))),
		leases: informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithNamespace(corev1.NamespaceNodeLease), informers.WithTransform(edge.Trim)),
	}
}

// connect makes every change that the informers see reach the controller, as
// the shadow shows it if there is one.
func (s *informerSet) connect(d *dispatcher, c *controller.Controller, shadowing *shadow.Shadow) error {
	observe := func(turn func(now time.Time), poll func() bool) {
		d.UpdateIf(func() bool {
			turn(time.Now())
			return poll()
		})
	}
	ofNodes, ofPods := s.cluster.Core().V1().Nodes().Informer(), s.cluster.Core().V1().Pods().Informer()
	stores := edge.Stores{Nodes: feed.StoreOf(ofNodes), Pods: feed.StoreOf(ofPods)}
	var err error
	s.handlers, err = edge.NewHandlers(c, stores, observe)
	if shadowing != nil {
		s.handlers, err = edge.NewViewedHandlers(c, shadowing, stores, observe)
	}
	if err != nil {
		return err
	}
	nodes, nodeErr := ofNodes.AddEventHandler(s.handlers.Nodes)
	leases, leaseErr := s.leases.Coordination().V1().Leases().Informer().AddEventHandler(s.handlers.Leases)
	pods, podErr := ofPods.AddEventHandler(s.handlers.Pods)
	if err := errors.Join(nodeErr, leaseErr, podErr); err != nil {
		return err
	}
	s.synced = []cache.InformerSynced{nodes.HasSynced, leases.HasSynced, pods.HasSynced}
	return nil
}

// start starts the informers and waits until all that existed has been handed
// to the controller. It returns false when ctx ends before.
func (s *informerSet) start(ctx context.Context) bool {
	s.cluster.Start(ctx.Done())
	s.leases.Start(ctx.Done())
	return cache.WaitForCacheSync(ctx.Done(), s.synced...)
}

// stop waits for the informers, whose context has ended.
func (s *informerSet) stop() {
	s.cluster.Shutdown()
	s.leases.Shutdown()
}
