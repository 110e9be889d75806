package daemonset

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/daemon"
)

// kubelets is the scheduler and all kubelets of the cluster: it binds pods to
// the nodes that they are for, reports them ready, and lets deleted ones go. It
// also is the witness of every pod that there ever was.
type kubelets struct {
	client kubernetes.Interface

	mu   sync.Mutex
	seen map[types.UID]*corev1.Pod // as last seen
	gone map[types.UID]bool
	work chan *corev1.Pod
}

// runKubelets starts them. They stop when the test ends.
func runKubelets(t *testing.T, client kubernetes.Interface) *kubelets {
	k := &kubelets{client: client, seen: map[types.UID]*corev1.Pod{}, gone: map[types.UID]bool{},
		work: make(chan *corev1.Pod, 10_000)}
	ctx, stop := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactory(client, 0)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { k.see(object, false) },
		UpdateFunc: func(_, object any) { k.see(object, false) },
		DeleteFunc: func(object any) { k.see(object, true) },
	})
	require.NoError(t, err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case pod := <-k.work:
					if err := k.act(ctx, pod); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				}
			}
		})
	}
	t.Cleanup(func() { stop(); workers.Wait(); factory.Shutdown() })
	return k
}

func (k *kubelets) see(object any, gone bool) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	k.mu.Lock()
	k.seen[pod.UID] = pod
	k.gone[pod.UID] = gone
	k.mu.Unlock()
	if !gone {
		k.work <- pod
	}
}

func (k *kubelets) act(ctx context.Context, pod *corev1.Pod) error {
	pods := k.client.CoreV1().Pods(pod.Namespace)
	var err error
	switch {
	case pod.DeletionTimestamp != nil:
		at := int64(0)
		err = pods.Delete(ctx, pod.Name,
			metav1.DeleteOptions{GracePeriodSeconds: &at, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	case daemon.TargetNode(pod) == "": // for no node: not the business of anybody here
	case pod.Spec.NodeName == "":
		err = pods.Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: daemon.TargetNode(pod)},
		}, metav1.CreateOptions{})
	case !isReady(pod):
		ready := fmt.Appendf(nil,
			`{"metadata":{"uid":%q},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True",`+
				`"lastTransitionTime":%q}]}}`,
			pod.UID, time.Now().UTC().Format(time.RFC3339))
		_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, ready, metav1.PatchOptions{}, "status")
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		return nil // it has changed since
	}
	return err
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ever returns all pods that there ever were, by node.
func (k *kubelets) ever() map[string][]*corev1.Pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	byNode := map[string][]*corev1.Pod{}
	for _, pod := range k.seen {
		node := daemon.TargetNode(pod)
		byNode[node] = append(byNode[node], pod)
	}
	return byNode
}

// living returns the pods that there are, by node; an error if a node has two.
func (k *kubelets) living() (map[string]*corev1.Pod, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	byNode := map[string]*corev1.Pod{}
	for uid, pod := range k.seen {
		if k.gone[uid] {
			continue
		}
		node := daemon.TargetNode(pod)
		if other := byNode[node]; other != nil {
			return nil, fmt.Errorf("node %s has the pods %s and %s", node, other.Name, pod.Name)
		}
		byNode[node] = pod
	}
	return byNode, nil
}
