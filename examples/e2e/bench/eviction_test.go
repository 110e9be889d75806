package bench

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/controller/tainteviction"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

func evictionComparisons() []comparison {
	return []comparison{
		{name: "timer, set and cancel", of: "pending", sizes: []int{100_000, 1_000_000}, ours: podComesOurs,
			upstream: timerUpstream},
		{name: "timer of a known pod, cancel and set", of: "pending", sizes: []int{100_000, 1_000_000}, ours: podChangesOurs,
			upstream: timerAgainUpstream},
		{name: "taint a node and untaint it", of: "pods", sizes: []int{110}, ours: nodeOurs, upstream: nodeUpstream},
		{name: "memory of a timer", of: "pending", sizes: []int{100_000, 1_000_000}, ours: memoryOurs,
			upstream: memoryUpstream},
		{name: "goroutines when all are due at once", of: "pending", sizes: []int{1_000_000}, ours: herdOurs,
			upstream: herdUpstream},
	}
}

// defaultTolerations are those that every pod gets at admission.
var defaultTolerations = []corev1.Toleration{
	{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: new(int64(300))},
	{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: new(int64(300))},
}

const podsPerNode = 110

// podsOn makes pods, podsPerNode to a node.
func podsOn(nodes []*corev1.Node, n int) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	for i, name := range names("some-deployment-5d8f7c6b9-", n) {
		pods[i] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
				UID: types.UID(fmt.Sprintf("c56a4180-65aa-42ec-a945-%012d", i))},
			Spec: corev1.PodSpec{NodeName: nodes[i/podsPerNode].Name, Tolerations: defaultTolerations},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue,
					LastTransitionTime: metav1.NewTime(epoch.Add(-time.Hour))},
			}},
		}
	}
	return pods
}

// unreachable makes nodes with the taint of a node that is silent, enough of
// them for pods.
func unreachable(pods int) []*corev1.Node {
	nodes := make([]*corev1.Node, (pods+podsPerNode-1)/podsPerNode)
	for i, name := range names("node-", len(nodes)) {
		nodes[i] = readyNode(name)
		nodes[i].Spec.Taints = []corev1.Taint{
			{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: new(metav1.NewTime(epoch))},
		}
	}
	return nodes
}

func newTracker(
	tb testing.TB, nodes []*corev1.Node,
) (*eviction.Tracker, *timedqueue.Dispatcher) {
	tb.Helper()
	tracker, err := eviction.NewTracker(eviction.Config{}, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	for _, node := range nodes {
		tracker.ObserveNode(time.Now(), node)
	}
	tracker.MarkSynced()
	return tracker, locked(tb, tracker)
}

// extra is how many pods the loops take turns with.
const extra = 1024

// A pod is bound to a tainted node and deleted: its tolerations are matched,
// its deadline is decided, its timer is set and cancelled.
func podComesOurs(tb testing.TB, pending int) work {
	nodes := unreachable(pending + extra)
	tracker, dispatcher := newTracker(tb, nodes)
	pods := podsOn(nodes, pending+extra)
	for _, pod := range pods[:pending] {
		tracker.ObservePod(time.Now(), pod)
	}
	i := 0
	return work{op: func() {
		pod := pods[pending+i%extra]
		i++
		dispatcher.Update(func() { tracker.ObservePod(time.Now(), pod) })
		if tracker.Waiting() != pending+1 {
			tb.Fatal("the pod does not wait")
		}
		dispatcher.Update(func() { tracker.ForgetPod(time.Now(), pod.UID) })
	}}
}

// A pod that is known tolerates the taint for ever, and then for a time again:
// its timer is cancelled and set.
func podChangesOurs(tb testing.TB, pending int) work {
	nodes := unreachable(pending)
	tracker, dispatcher := newTracker(tb, nodes)
	pods := podsOn(nodes, pending)
	for _, pod := range pods {
		tracker.ObservePod(time.Now(), pod)
	}
	endless := make([]*corev1.Pod, min(extra, pending))
	for i := range endless {
		endless[i] = pods[i].DeepCopy()
		endless[i].Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	i := 0
	return work{op: func() {
		at := i % len(endless)
		i++
		dispatcher.Update(func() { tracker.ObservePod(time.Now(), endless[at]) })
		if tracker.Waiting() != pending-1 {
			tb.Fatal("the pod still waits")
		}
		dispatcher.Update(func() { tracker.ObservePod(time.Now(), pods[at]) })
	}}
}

// farOff is when upstream's timers fire: not while they are measured.
const farOff = time.Hour

// newTimers makes upstream's timers, which run on the clock. None may fire.
func newTimers(tb testing.TB) *tainteviction.TimedWorkerQueue {
	tb.Helper()
	timers := tainteviction.CreateWorkerQueue(func(_ context.Context, _ time.Time, args *tainteviction.WorkArgs) error {
		tb.Errorf("the timer of %v has fired", args.Object)
		return nil
	})
	tb.Cleanup(timers.CancelAndWait)
	return timers
}

func addTimer(timers *tainteviction.TimedWorkerQueue, pod *corev1.Pod) {
	now := time.Now()
	timers.AddWork(context.Background(), tainteviction.NewWorkArgs(pod.Name, pod.Namespace), now, now.Add(farOff))
}

func keyOf(pod *corev1.Pod) string {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}.String()
}

// Upstream: TimedWorkerQueue.AddWork and CancelWork of
// pkg/controller/tainteviction. The deadline is given to it for nothing.
func timerUpstream(tb testing.TB, pending int) work {
	timers := newTimers(tb)
	pods := podsOn(unreachable(pending+extra), pending+extra)
	for _, pod := range pods[:pending] {
		addTimer(timers, pod)
	}
	logger := klog.Background()
	i := 0
	return work{op: func() {
		pod := pods[pending+i%extra]
		i++
		addTimer(timers, pod)
		if !timers.CancelWork(logger, keyOf(pod)) {
			tb.Fatal("the pod does not wait")
		}
	}}
}

// Upstream: TimedWorkerQueue.CancelWork and AddWork. The deadline is given to
// it for nothing.
func timerAgainUpstream(tb testing.TB, pending int) work {
	timers := newTimers(tb)
	pods := podsOn(unreachable(pending), pending)
	for _, pod := range pods {
		addTimer(timers, pod)
	}
	logger := klog.Background()
	i := 0
	return work{op: func() {
		pod := pods[i%min(extra, pending)]
		i++
		if !timers.CancelWork(logger, keyOf(pod)) {
			tb.Fatal("the pod does not wait")
		}
		addTimer(timers, pod)
	}}
}

// A node gets a taint and each of its pods a deadline. Then the node loses it.
func nodeOurs(tb testing.TB, n int) work {
	ill := unreachable(n)
	well := make([]*corev1.Node, len(ill))
	for i := range ill {
		well[i] = readyNode(ill[i].Name)
	}
	tracker, dispatcher := newTracker(tb, well)
	for _, pod := range podsOn(ill, n) {
		tracker.ObservePod(time.Now(), pod)
	}
	observe := func(nodes []*corev1.Node, pending int) {
		dispatcher.Update(func() {
			for _, node := range nodes {
				tracker.ObserveNode(time.Now(), node)
			}
		})
		if tracker.Waiting() != pending {
			tb.Fatalf("%d pods wait, not %d", tracker.Waiting(), pending)
		}
	}
	return work{op: func() {
		observe(ill, n)
		observe(well, 0)
	}}
}

// Upstream: for each pod GetMatchingTolerations of pkg/apis/core/v1/helper,
// then GetWorkerUnsafe and AddWork of TimedWorkerQueue. That is what its
// handler of nodes calls, which is not exported. When the taint is gone,
// CancelWork for each. The events that it records about cancelled timers are
// left out.
func nodeUpstream(tb testing.TB, n int) work {
	timers := newTimers(tb)
	nodes := unreachable(n)
	pods := podsOn(nodes, n)
	on := nodes[0].Spec.Taints
	logger := klog.Background()
	return work{op: func() {
		for _, pod := range pods {
			all, used := helper.GetMatchingTolerations(logger, on, pod.Spec.Tolerations)
			if !all || len(used) != 1 {
				tb.Fatal("the taint is tolerated")
			}
			if timers.GetWorkerUnsafe(keyOf(pod)) == nil {
				addTimer(timers, pod)
			}
		}
		for _, pod := range pods {
			if !timers.CancelWork(logger, keyOf(pod)) {
				tb.Fatal("the pod does not wait")
			}
		}
	}}
}

// held measures what stays on the heap after fill, and calls drop afterwards.
// Pods and nodes, which an informer holds anyway, have to be there before.
func held(pending int, fill func() (keep any), drop func(any)) work {
	var perPod float64
	return work{
		op: func() {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			kept := fill()
			runtime.GC()
			runtime.ReadMemStats(&after)
			perPod = (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / float64(pending)
			drop(kept)
			runtime.KeepAlive(kept)
		},
		report: func(b *testing.B) {
			b.ReportMetric(perPod, "B/pending")
			b.ReportMetric(0, "ns/op") // the time says nothing
		},
	}
}

// All that the tracker knows: nodes and taints, pods, deadlines, the heap.
func memoryOurs(tb testing.TB, pending int) work {
	nodes := unreachable(pending)
	pods := podsOn(nodes, pending)
	fill := func() any {
		tracker, _ := newTracker(tb, nodes)
		for _, pod := range pods {
			tracker.ObservePod(time.Now(), pod)
		}
		if tracker.Waiting() != pending {
			tb.Fatal("not every pod waits")
		}
		return tracker
	}
	return held(pending, fill, func(any) { runtime.KeepAlive(pods) })
}

// Upstream: TimedWorkerQueue.AddWork. Its timers alone; what the controller
// knows of taints is not exported.
func memoryUpstream(tb testing.TB, pending int) work {
	pods := podsOn(unreachable(pending), pending)
	fill := func() any {
		timers := newTimers(tb)
		for _, pod := range pods {
			addTimer(timers, pod)
		}
		return timers
	}
	return held(pending, fill, func(timers any) {
		timers.(*tainteviction.TimedWorkerQueue).CancelAndWait()
		runtime.KeepAlive(pods)
	})
}
