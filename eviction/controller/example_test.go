package controller_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/eviction/controller"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A program with its own dispatcher and informers connects a tracker by an
// Informer. This one prints what it would evict.
func ExampleInformer() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := fake.NewClientset(
		&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{
				{Key: "maintenance", Effect: corev1.TaintEffectNoExecute},
			}},
		},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "5f2c"},
			Spec:       corev1.PodSpec{NodeName: "node-1"},
		})

	tracker, err := eviction.NewTracker(eviction.Config{}, time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	action := eviction.DryRun(func(task eviction.Task) {
		fmt.Println("evict", task.Pod, "from", task.Node)
		stop()
	})
	dispatcher, err := timedqueue.NewDispatcher(tracker, action, timedqueue.DispatcherConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	informer, err := controller.NewInformer(controller.InformerConfig{
		Factory: informers.NewSharedInformerFactory(client, 0),
		Tracker: tracker,
		Update:  dispatcher.Update,
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	ready := make(chan struct{})
	go informer.Run(ctx, func() { close(ready) })
	<-ready // here a standby would wait until it leads
	if err := dispatcher.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// evict shop/web from node-1
}
