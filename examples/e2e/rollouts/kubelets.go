package rollouts

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubelife/lifecycle/examples/e2e/rollouts/state"
)

// kubelets are those of all nodes: they report the pods of their nodes ready
// and let deleted ones go, at once. Their caches show pods and sets to the
// script.
type kubelets struct {
	client    kubernetes.Interface
	informers informers.SharedInformerFactory
	pods      listers.PodLister
	sets      appslisters.DaemonSetLister
	queue     workqueue.TypedRateLimitingInterface[types.NamespacedName]
	workers   sync.WaitGroup
	stopping  context.CancelFunc
}

// kubeletWorkers is how many requests the kubelets send at a time.
const kubeletWorkers = 16

// startKubelets starts them, and waits until they see the cluster or ctx ends.
// The caller stops them. After an error none run.
func startKubelets(starting context.Context, client kubernetes.Interface) (*kubelets, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(starting))
	k := &kubelets{
		client: client, informers: informers.NewSharedInformerFactory(client, 0), stopping: cancel,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](10*time.Millisecond, time.Second)),
	}
	pods := k.informers.Core().V1().Pods()
	k.pods, k.sets = pods.Lister(), k.informers.Apps().V1().DaemonSets().Lister()
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    k.see,
		UpdateFunc: func(_, object any) { k.see(object) },
	}); err != nil {
		cancel()
		return nil, err
	}
	k.informers.Start(ctx.Done())
	k.informers.WaitForCacheSync(starting.Done())
	for range kubeletWorkers {
		k.workers.Go(func() { k.work(ctx) })
	}
	if starting.Err() != nil {
		k.stop()
		return nil, context.Cause(starting)
	}
	return k, nil
}

// stop ends them and waits.
func (k *kubelets) stop() {
	k.stopping()
	k.queue.ShutDown()
	k.workers.Wait()
	k.informers.Shutdown()
}

func (k *kubelets) see(object any) {
	if pod, ok := object.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		k.queue.Add(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	}
}

func (k *kubelets) work(ctx context.Context) {
	for {
		key, ended := k.queue.Get()
		if ended {
			return
		}
		// What fails is tried again until the pod needs nothing or the play ends.
		if err := k.sync(ctx, key); err != nil {
			k.queue.AddRateLimited(key)
		} else {
			k.queue.Forget(key)
		}
		k.queue.Done(key)
	}
}

// sync does what a kubelet does for a pod.
func (k *kubelets) sync(ctx context.Context, key types.NamespacedName) error {
	pod, err := k.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	pods := k.client.CoreV1().Pods(pod.Namespace)
	switch {
	case pod.DeletionTimestamp != nil:
		err = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID},
		})
	case !state.IsReady(pod):
		ready := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"phase":"Running","conditions":[`+
			`{"type":"Ready","status":"True","lastTransitionTime":%q}]}}`, pod.UID, time.Now().UTC().Format(time.RFC3339))
		_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, ready, metav1.PatchOptions{}, "status")
	}
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		return nil // done, or the pod has changed since and is seen again
	}
	return err
}

// seen returns the set and the pods of its namespace, as last seen.
func (k *kubelets) seen() (*appsv1.DaemonSet, []*corev1.Pod, error) {
	set, err := k.sets.DaemonSets(namespace).Get(setName)
	if err != nil {
		return nil, nil, err
	}
	pods, err := k.pods.Pods(namespace).List(labels.Everything())
	return set, pods, err
}

// has reports whether a pod was there when they last saw it.
func (k *kubelets) has(pod *corev1.Pod) bool {
	seen, err := k.pods.Pods(pod.Namespace).Get(pod.Name)
	return err == nil && seen.UID == pod.UID
}
