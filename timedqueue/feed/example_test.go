package feed_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/timedqueue/feed"
)

// A queue holds the pods of a cluster, each due when it is 30 seconds old. The
// handler connects it with an informer, and the dispatcher's lock protects it.
func ExampleHandler() {
	client := fake.NewClientset(
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart-0", UID: "a"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart-1", UID: "b"}},
	)
	queue, dispatcher, err := newQueue()
	if err != nil {
		fmt.Println(err)
		return
	}

	pods := informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
	handler, err := feed.NewHandler(feed.Config[*corev1.Pod]{
		Update: func(turn func(now time.Time)) {
			dispatcher.Update(func() { turn(time.Now()) })
		},
		Seen: func(now time.Time, pod *corev1.Pod) {
			age := now.Sub(pod.CreationTimestamp.Time)
			queue.Add(pod.UID, pod.Name, now.Add(30*time.Second-age))
		},
		Gone:  func(_ time.Time, pod *corev1.Pod) { queue.Remove(pod.UID) },
		Store: feed.StoreOf(pods),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	registration, err := pods.AddEventHandler(handler)
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pods.RunWithContext(ctx)
	}()
	cache.WaitForCacheSync(ctx.Done(), registration.HasSynced)
	dispatcher.View(func() { fmt.Println("pods:", queue.Len()) })
	stop()
	<-ended
	// Output:
	// pods: 2
}

func newQueue() (
	*timedqueue.Queue[types.UID, string],
	*timedqueue.Dispatcher, error,
) {
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[types.UID, string]{}, time.Now())
	if err != nil {
		return nil, nil, err
	}
	act := func(context.Context, timedqueue.Item[types.UID, string]) timedqueue.Result {
		return timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	}
	dispatcher, err := timedqueue.NewDispatcher(queue, act, timedqueue.DispatcherConfig{})
	return queue, dispatcher, err
}

// The watch is late. It shows a change by another client, and then the write of
// ours that was computed from it. The core has seen that write before.
func ExampleHandler_Wrote() {
	nodes := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Nodes().Informer()
	handler, err := feed.NewHandler(feed.Config[*corev1.Node]{
		Update: func(turn func(now time.Time)) { turn(time.Now()) },
		Seen: func(_ time.Time, node *corev1.Node) {
			fmt.Println("seen", node.ResourceVersion, "with", len(node.Spec.Taints), "taints")
		},
		Gone:  func(_ time.Time, node *corev1.Node) { fmt.Println("gone", node.Name) },
		Store: feed.StoreOf(nodes),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	node := func(version string, taints ...corev1.Taint) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "5f2c", ResourceVersion: version},
			Spec:       corev1.NodeSpec{Taints: taints},
		}
	}
	taint := corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}

	handler.OnAdd(node("7"), true)
	handler.Wrote(node("9", taint)) // as the API server has returned it
	handler.OnUpdate(node("7"), node("8"))
	fmt.Println("the watch has caught up")
	handler.OnUpdate(node("8"), node("9", taint))
	handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "node-1", Obj: node("9", taint)})
	// Output:
	// seen 7 with 0 taints
	// seen 9 with 1 taints
	// the watch has caught up
	// seen 9 with 1 taints
	// gone node-1
}
