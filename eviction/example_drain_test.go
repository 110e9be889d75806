package eviction_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

// A drain that is asked for before the node is known, for example after a
// restart. It waits for the node. The node is empty when nothing of it remains:
// the pods of DaemonSets stay, and one that is evicted remains until it is gone.
func ExampleTracker_EvictNode() {
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	tracker, err := eviction.NewTracker(eviction.Config{}, noon)
	if err != nil {
		fmt.Println(err)
		return
	}
	tracker.EvictNode(noon, "node-1", eviction.NodeRequest{Reason: "kernel update"})
	for name, request := range tracker.AwaitedNodes() {
		fmt.Println("waiting for", name, "for the", request.Reason)
	}

	tracker.ObserveNode(noon, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "n"}})
	for name, kind := range map[string]string{"web": "ReplicaSet", "agent": "DaemonSet"} {
		controls := true
		tracker.ObservePod(noon, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: name, UID: types.UID(name),
				OwnerReferences: []metav1.OwnerReference{{Kind: kind, Controller: &controls}},
			},
			Spec: corev1.PodSpec{NodeName: "node-1"},
		})
	}
	tracker.MarkSynced()
	remaining := func() {
		left := 0
		for p := range tracker.RemainingOn("node-1") {
			fmt.Println("remains:", p.Pod.Name)
			left++
		}
		if left == 0 {
			fmt.Println("node-1 is empty")
		}
	}
	task, _ := tracker.Start(noon)
	fmt.Println("evict", task.Pod.Name, "for the", task.Decision.Request)
	tracker.Finish(noon, task, eviction.Result{Outcome: eviction.OutcomeEvicted})
	remaining()
	tracker.ForgetPod(noon, task.Pod.UID) // the informer shows that it is gone
	remaining()
	// Output:
	// waiting for node-1 for the kernel update
	// evict web for the kernel update
	// remains: web
	// node-1 is empty
}
