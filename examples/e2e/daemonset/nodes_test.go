package daemonset

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/examples/hollownode/runner"
)

// fleet is the value of runner.Label of all nodes.
const fleet = "daemonset"

// witness records each pod that there ever was. It is the scheduler as well,
// and binds a pod to the node that it is for.
type witness struct {
	*testing.T
	ctx    context.Context //nolint:containedctx // that of an informer's handlers
	client kubernetes.Interface

	mu   sync.Mutex
	seen map[types.UID]*corev1.Pod // as last seen
	gone map[types.UID]bool
}

// runNodes runs the kubelets of all nodes and the witness of their pods until
// the test ends.
func runNodes(t *testing.T, client kubernetes.Interface) *witness {
	ctx, stop := context.WithCancel(context.Background())
	w := &witness{T: t, ctx: ctx, client: client, seen: map[types.UID]*corev1.Pod{}, gone: map[types.UID]bool{}}
	kubelets, err := runner.NewRunner(runner.Config{
		Acting: client, Watching: client, Beating: client, Fleet: fleet,
	})
	require.NoError(t, err)
	factory := informers.NewSharedInformerFactory(client, 0)
	_, err = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.bind(w.see(object, false)) },
		UpdateFunc: func(_, object any) { w.see(object, false) },
		DeleteFunc: func(object any) { w.see(object, true) },
	})
	require.NoError(t, err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, kubelets.Run(ctx)) })
	t.Cleanup(func() { stop(); running.Wait(); factory.Shutdown() })
	return w
}

func (w *witness) see(object any, gone bool) *corev1.Pod {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	require.True(w, ok)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[pod.UID] = pod
	w.gone[pod.UID] = gone
	return pod
}

// bind binds a pod that is for a node and not on it yet.
func (w *witness) bind(pod *corev1.Pod) {
	node := daemon.TargetNode(pod)
	if node == "" || pod.Spec.NodeName != "" {
		return
	}
	err := w.client.CoreV1().Pods(pod.Namespace).Bind(w.ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	if w.ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		assert.NoError(w, err, "bind %s", pod.Name)
	}
}

// ever returns all pods that there ever were, by node.
func (w *witness) ever() map[string][]*corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	byNode := map[string][]*corev1.Pod{}
	for _, pod := range w.seen {
		node := daemon.TargetNode(pod)
		byNode[node] = append(byNode[node], pod)
	}
	return byNode
}

// living returns the pods that there are, by node; an error if a node has two.
func (w *witness) living() (map[string]*corev1.Pod, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	byNode := map[string]*corev1.Pod{}
	for uid, pod := range w.seen {
		if w.gone[uid] {
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
