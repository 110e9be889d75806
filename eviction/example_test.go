package eviction_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
)

// A pod that tolerates an unreachable node for five minutes has been on it for
// long. Then another client adds a taint that it tolerates for ten seconds
// only.
func ExampleDecide() {
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	fiveMinutes, tenSeconds := int64(300), int64(10)
	pod := eviction.Pod{
		Tolerations: []corev1.Toleration{
			{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists,
				TolerationSeconds: &fiveMinutes},
			{Key: "maintenance", Operator: corev1.TolerationOpExists, TolerationSeconds: &tenSeconds},
		},
		Arrived: noon.Add(-time.Hour),
	}
	taint := func(key string, since time.Time) eviction.Taint {
		return eviction.Taint{Taint: corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute}, Start: since}
	}
	show := func(on ...eviction.Taint) {
		decision := eviction.Decide(on, pod, taints.Matcher{})
		if !decision.Leaves() {
			fmt.Println("stays:", decision.Reason)
			return
		}
		fmt.Println("leaves at", decision.Due.Format(time.TimeOnly), "for", decision.Taint.Key+":",
			decision.Reason)
	}
	unreachable := taint(corev1.TaintNodeUnreachable, noon)
	show()
	show(unreachable)
	show(unreachable, taint("maintenance", noon.Add(time.Minute)))
	show(unreachable, taint("broken", noon.Add(2*time.Minute)))
	// Output:
	// stays: NoTaints
	// leaves at 12:05:00 for node.kubernetes.io/unreachable: TolerationEnds
	// leaves at 12:01:10 for maintenance: TolerationEnds
	// leaves at 12:02:00 for broken: Untolerated
}

// The API server stores whole seconds, so a taint that was stored with 12:00:00
// may be almost a second younger than that.
func ExampleStartTime() {
	clock := func(seconds float64) time.Time {
		return time.Date(2026, 7, 1, 12, 0, 0, 0,
			time.UTC).Add(time.Duration(seconds * float64(time.Second)))
	}
	stored := metav1.NewTime(clock(0))
	show := func(began time.Time) { fmt.Println(began.Format("15:04:05.000")) }
	show(eviction.StartTime(&stored, clock(0.9), true))
	show(eviction.StartTime(&stored, clock(2.5), true))
	show(eviction.StartTime(&stored, clock(7200), false)) // found after a restart
	show(eviction.StartTime(&stored, clock(60), true))    // by a clock that is a minute behind
	show(eviction.StartTime(nil, clock(0.9), true))
	// Output:
	// 12:00:00.900
	// 12:00:01.000
	// 12:00:01.000
	// 12:00:50.000
	// 12:00:00.900
}

// A Tracker has no clock: time is what the caller says that it is. A dispatcher
// would call Start, act and call Finish.
func ExampleTracker() {
	clock := func(seconds int) time.Time {
		return time.Date(2026, 7, 1, 12, 0, seconds, 0, time.UTC)
	}
	tracker, err := eviction.NewTracker(eviction.Config{}, clock(0))
	if err != nil {
		fmt.Println(err)
		return
	}
	thirty := int64(30)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node-1-uid"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0",
		UID: "web-0-uid"}}
	pod.Spec.NodeName = node.Name
	pod.Spec.Tolerations = []corev1.Toleration{
		{Key: "maintenance", Operator: corev1.TolerationOpExists, TolerationSeconds: &thirty},
	}
	tracker.ObserveNode(clock(0), node)
	tracker.ObservePod(clock(0), pod)
	tracker.MarkSynced()

	added := metav1.NewTime(clock(10))
	tainted := node.DeepCopy()
	tainted.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute,
		TimeAdded: &added}}
	tracker.ObserveNode(clock(10), tainted)

	next, _ := tracker.Next(clock(11))
	fmt.Println("next at", next.Format(time.TimeOnly), "pending:", tracker.Waiting())
	_, ok := tracker.Start(clock(39))
	fmt.Println("at 12:00:39:", ok)
	task, ok := tracker.Start(clock(40))
	fmt.Println("at 12:00:40:", ok, task.Pod, "on", task.Node, task.Decision.Reason)

	tracker.Finish(clock(42), task, eviction.Result{Outcome: eviction.OutcomeEvicted})
	tracker.ForgetPod(clock(42), pod.UID)
	fmt.Println("pending:", tracker.Waiting())
	// Output:
	// next at 12:00:40 pending: 1
	// at 12:00:39: false
	// at 12:00:40: true default/web-0 on node-1 TolerationEnds
	// pending: 0
}

func ExampleDryRun() {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	tracker, err := eviction.NewTracker(eviction.Config{}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node-1-uid"}}
	node.Spec.Taints = []corev1.Taint{{Key: "broken", Effect: corev1.TaintEffectNoExecute}}
	tracker.ObserveNode(now, node)
	for _, name := range []string{"web-0", "web-1"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
			UID: types.UID(name + "-uid")}}
		pod.Spec.NodeName = node.Name
		tracker.ObservePod(now, pod)
	}
	tracker.MarkSynced()

	act := eviction.DryRun(func(task eviction.Task) {
		fmt.Println("would evict", task.Pod, "for", task.Decision.Taint.ToString())
	})
	for task, ok := tracker.Start(now); ok; task, ok = tracker.Start(now) {
		tracker.Finish(now, task, act(context.Background(), task))
	}
	// Output:
	// would evict default/web-0 for broken:NoExecute
	// would evict default/web-1 for broken:NoExecute
}
