package eviction_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

// A cloud takes two spot machines back, with two minutes' notice. Their pods
// are evicted through the Eviction API, one after the other, and deleted in the
// last minute. Then the cloud takes one notice back: what is left on that
// machine stays.
func Example_interruption() {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	tracker, err := eviction.NewTracker(eviction.Config{
		Exempt: eviction.IsMirrorPod,
		Budgets: []eviction.Budget{{
			Name:   "machine",
			ByNode: func(node *corev1.Node) string { return node.Name },
			Limit:  0.05, // one pod in 20 seconds
		}},
	}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	act, err := interruptionAction(func(what string) { fmt.Println(now.Format(time.TimeOnly), what) })
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, machine := range []string{"spot-1", "spot-2"} {
		tracker.ObserveNode(now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machine,
			UID: types.UID(machine)}})
		for _, pod := range []string{"a", "b", "c"} {
			tracker.ObservePod(now, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "shop", Name: machine + "-" + pod, UID: types.UID(machine + pod),
				},
				Spec: corev1.PodSpec{NodeName: machine},
			})
		}
	}
	tracker.MarkSynced()

	// run performs what is due until a time. In a program that is a
	// timedqueue.Dispatcher, with notices handed to it inside its Update.
	run := func(until time.Time) {
		for {
			if task, ok := tracker.Start(now); ok {
				result := act(context.Background(), task)
				tracker.Finish(now, task, result)
				if result.Outcome == eviction.OutcomeEvicted {
					tracker.ForgetPod(now, task.Pod.UID) // the informer shows that it is gone
				}
				continue
			}
			next, more := tracker.Next(now)
			if !more || next.After(until) {
				now = until
				return
			}
			now = next
		}
	}

	fmt.Println("notice for both machines")
	const reason = "the cloud takes the machine back"
	tracker.EvictNode(now, "spot-1", eviction.NodeRequest{Reason: reason})
	tracker.EvictNode(now, "spot-2", eviction.NodeRequest{Reason: reason})
	run(now.Add(10 * time.Second))

	fmt.Println("notice for spot-2 is taken back")
	tracker.CancelNodeEviction(now, "spot-2")
	run(now.Add(time.Minute))
	for pod := range tracker.PodsOn("spot-2") {
		fmt.Println(pod.Pod, pod.Decision.Reason)
	}
	// Output:
	// notice for both machines
	// 09:00:00 evict shop/spot-1-a
	// 09:00:00 evict shop/spot-2-a
	// notice for spot-2 is taken back
	// 09:00:20 evict shop/spot-1-b
	// 09:00:40 delete shop/spot-1-c
	// shop/spot-2-c NoTaints
	// shop/spot-2-b NoTaints
}

// interruptionAction evicts a pod until it is overdue for 30 seconds, and
// deletes it after that.
func interruptionAction(tell func(string)) (eviction.Action, error) {
	evictor, err := eviction.NewEvictor(eviction.EvictorConfig{
		Pods: func(string) eviction.EvictionClient { return interruptionPods{tell: tell} },
	})
	if err != nil {
		return nil, err
	}
	deleter, err := eviction.NewDeleter(eviction.DeleterConfig{
		Pods: func(string) eviction.PodClient { return interruptionPods{tell: tell} },
	})
	if err != nil {
		return nil, err
	}
	return eviction.EvictThenDelete(evictor.Act, deleter.Act, 30*time.Second), nil
}

// interruptionPods is in the place of clientset.CoreV1().Pods(namespace).
type interruptionPods struct{ tell func(string) }

func (p interruptionPods) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Pod,
	error) {
	machine := name[:len("spot-1")]
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       corev1.PodSpec{NodeName: machine},
	}, nil
}

func (p interruptionPods) Patch(
	ctx context.Context, name string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string,
) (*corev1.Pod, error) {
	return p.Get(ctx, name, metav1.GetOptions{}) // the condition DisruptionTarget
}

func (p interruptionPods) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	p.tell("delete shop/" + name)
	return nil
}

func (p interruptionPods) EvictV1(_ context.Context, e *policyv1.Eviction) error {
	p.tell("evict shop/" + e.Name)
	return nil
}
