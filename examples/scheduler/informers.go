package main

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue/feed"
)

// informerSet passes what happens in the cluster on to the core.
type informerSet struct {
	cluster, leases informers.SharedInformerFactory
	synced          []cache.InformerSynced
}

func newInformerSet(client kubernetes.Interface, b *binder) (*informerSet, error) {
	s := &informerSet{
		cluster: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(trim)),
		leases: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(trim),
			informers.WithNamespace(corev1.NamespaceNodeLease)),
	}
	core := b.core
	return s, errors.Join(
		connect(s, b, s.cluster.Core().V1().Nodes().Informer(), core.ObserveNode,
			func(now time.Time, node *corev1.Node) { core.ForgetNode(now, node.Name) }),
		connect(s, b, s.leases.Coordination().V1().Leases().Informer(), core.ObserveLease,
			func(now time.Time, lease *coordinationv1.Lease) { core.ForgetLease(now, lease.Name) }),
		connect(s, b, s.cluster.Core().V1().Pods().Informer(), core.ObservePod,
			func(now time.Time, pod *corev1.Pod) { core.ForgetPod(now, eviction.KeyOf(pod).ID()) }),
		connect(s, b, s.cluster.Apps().V1().DaemonSets().Informer(), core.ObserveDaemonSet,
			func(now time.Time, set *appsv1.DaemonSet) { core.ForgetDaemonSet(now, set.Namespace, set.Name) }),
		connect(s, b, s.cluster.Policy().V1().PodDisruptionBudgets().Informer(), core.ObserveBudget,
			func(now time.Time, budget *policyv1.PodDisruptionBudget) {
				core.ForgetBudget(now, budget.Namespace, budget.Name)
			}),
	)
}

// connect passes the reports of one informer on.
func connect[T metav1.Object](
	s *informerSet, b *binder, informer cache.SharedIndexInformer, seen, gone func(now time.Time, object T),
) error {
	handler, err := feed.NewHandler(feed.Config[T]{
		Update: func(turn func(now time.Time)) { b.dispatcher.Update(func() { turn(time.Now()) }) },
		Seen:   seen, Gone: gone,
	})
	if err != nil {
		return err
	}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return err
	}
	s.synced = append(s.synced, registration.HasSynced)
	return nil
}

// trim drops what the core does not read and what is large.
func trim(object any) (any, error) {
	if meta, ok := object.(metav1.Object); ok {
		meta.SetManagedFields(nil)
	}
	if node, ok := object.(*corev1.Node); ok {
		node.Status.Images = nil
	}
	return object, nil
}

// run tells the core until ctx ends, and calls ready once it knows all that
// existed.
func (s *informerSet) run(ctx context.Context, b *binder, ready func()) {
	defer s.leases.Shutdown()
	defer s.cluster.Shutdown()
	s.cluster.Start(ctx.Done())
	s.leases.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), s.synced...) {
		return
	}
	b.change(b.core.MarkSynced)()
	ready()
	<-ctx.Done()
}
