package eviction_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A zone's gate: two zones with a budget by node. One of them is found to be
// down, and is shut. When it is opened again its pods leave one every ten
// seconds, and not all that became due meanwhile at once.
func ExampleBudget() {
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	clock := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	tracker, err := eviction.NewTracker(eviction.Config{Budgets: []eviction.Budget{{
		Name:   "zone",
		ByNode: func(node *corev1.Node) string { return node.Labels[corev1.LabelTopologyZone] },
		Limit:  0.1, // pods a second
	}}}, noon)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, zone := range []string{"east", "west"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: "node-" + zone, UID: types.UID(zone),
			Labels: map[string]string{corev1.LabelTopologyZone: zone},
		}}
		node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable,
			Effect: corev1.TaintEffectNoExecute}}
		tracker.ObserveNode(noon, node)
		for i := range 3 {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
				Name: fmt.Sprintf("%s-%d", zone, i)}}
			pod.UID, pod.Spec.NodeName = types.UID(pod.Name), node.Name
			tracker.ObservePod(noon, pod)
		}
	}
	tracker.MarkSynced()

	drain := func(now time.Time) {
		for task, ok := tracker.Start(now); ok; task, ok = tracker.Start(now) {
			fmt.Println(now.Format(time.TimeOnly), task.Pod.Name)
			tracker.Finish(now, task, eviction.Result{Outcome: eviction.OutcomeEvicted})
			tracker.ForgetPod(now, task.Pod.UID) // the informer shows that it is gone
		}
	}
	tracker.SetLimit(clock(0), "zone", "west", 0)
	for seconds := 0; seconds < 60; seconds += 10 {
		drain(clock(seconds))
	}
	since, _ := tracker.Overdue(clock(60))
	fmt.Println("the first is overdue since", since.Format(time.TimeOnly))
	for pending := range tracker.Pending() {
		if pending.Pod.Name == "west-2" {
			fmt.Println("west-2 is held up by the budget", pending.Budget)
		}
	}
	tracker.SetLimit(clock(60), "zone", "west", 0.1)
	for seconds := 60; seconds < 120; seconds += 10 {
		drain(clock(seconds))
	}
	// Output:
	// 12:00:00 east-0
	// 12:00:10 east-1
	// 12:00:20 east-2
	// the first is overdue since 12:00:00
	// west-2 is held up by the budget zone
	// 12:01:00 west-0
	// 12:01:10 west-1
	// 12:01:20 west-2
}

// Evict for half an hour, which a PodDisruptionBudget may refuse, and delete
// then. Here the actions only tell; they would be those of NewEvict and
// NewDelete.
func ExampleEvictThenDelete() {
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	tracker, err := eviction.NewTracker(eviction.Config{
		Backoff: timedqueue.Backoff{Initial: 10 * time.Minute, Max: 10 * time.Minute},
	}, noon)
	if err != nil {
		fmt.Println(err)
		return
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node-1-uid"}}
	node.Spec.Taints = []corev1.Taint{{Key: "broken", Effect: corev1.TaintEffectNoExecute}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0",
		UID: "web-0-uid"}}
	pod.Spec.NodeName = node.Name
	tracker.ObserveNode(noon, node)
	tracker.ObservePod(noon, pod)
	tracker.MarkSynced()

	evict := func(_ context.Context, task eviction.Task) eviction.Result {
		fmt.Println(task.StartedAt.Format(time.TimeOnly), "evict", task.Pod, "- its budget says no")
		return eviction.Result{Outcome: eviction.OutcomeBlocked}
	}
	deletion := func(_ context.Context, task eviction.Task) eviction.Result {
		fmt.Println(task.StartedAt.Format(time.TimeOnly), "delete", task.Pod)
		return eviction.Result{Outcome: eviction.OutcomeEvicted}
	}
	act := eviction.EvictThenDelete(evict, deletion, 30*time.Minute)
	for now, ok := tracker.Next(noon); ok; now, ok = tracker.Next(now) {
		task, started := tracker.Start(now)
		if !started {
			continue
		}
		result := act(context.Background(), task)
		tracker.Finish(now, task, result)
		if result.Outcome == eviction.OutcomeEvicted {
			tracker.ForgetPod(now, pod.UID) // the informer shows that it is gone
		}
	}
	// Output:
	// 12:00:00 evict default/web-0 - its budget says no
	// 12:10:00 evict default/web-0 - its budget says no
	// 12:20:00 evict default/web-0 - its budget says no
	// 12:30:00 delete default/web-0
}
