package eviction_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A scheduler makes room for a large pod. It evicts the pods that it has chosen
// through the Eviction API, at most one a second of each namespace. One of them
// stays as long as its PodDisruptionBudget refuses.
func Example_preemption() {
	clock := &preemptionClock{now: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)}
	tracker, err := eviction.NewTracker(eviction.Config{
		// Taints are the business of another controller.
		Concerns: func(*corev1.Taint) bool { return false },
		Budgets: []eviction.Budget{{
			Name:  "namespace",
			ByPod: func(pod *corev1.Pod) string { return pod.Namespace },
			Limit: 1,
		}},
		Backoff: timedqueue.Backoff{Initial: 4 * time.Second, Max: time.Minute},
	}, clock.now)
	if err != nil {
		fmt.Println(err)
		return
	}
	evictor, err := eviction.NewEvictor(eviction.EvictorConfig{
		Pods: func(namespace string) eviction.EvictionClient {
			return &preemptionPods{namespace: namespace, clock: clock, refused: map[string]int{"db": 1}}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// The scheduler's informers feed the tracker.
	tracker.ObserveNode(clock.now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gpu-1",
		UID: "node"}})
	for _, pod := range []struct{ namespace, name string }{
		{"batch", "a"}, {"batch", "b"}, {"shop", "db"}, {"shop", "cart"},
	} {
		tracker.ObservePod(clock.now, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: pod.namespace, Name: pod.name, UID: types.UID("uid-" + pod.name),
			},
			Spec: corev1.PodSpec{NodeName: "gpu-1"},
		})
	}
	tracker.MarkSynced()

	// It chooses three pods, and learns that the last need not leave after all.
	for _, uid := range []types.UID{"uid-a", "uid-b", "uid-db", "uid-cart"} {
		tracker.EvictPod(clock.now, uid, "makes room for training/large", clock.now)
	}
	tracker.CancelPodEviction(clock.now, "uid-cart")

	// In a program a timedqueue.Dispatcher does this with several workers:
	//
	//	config := timedqueue.DispatcherConfig{Workers: 4}
	//	timedqueue.NewDispatcher(tracker, evictor.Act, config)
	for range 20 {
		task, ok := tracker.Start(clock.now)
		if ok {
			result := evictor.Act(context.Background(), task)
			tracker.Finish(clock.now, task, result)
			if result.Outcome == eviction.OutcomeEvicted {
				tracker.ForgetPod(clock.now, task.Pod.UID) // the informer shows that it is gone
			}
			continue
		}
		next, more := tracker.Next(clock.now)
		if !more {
			break
		}
		clock.now = next
	}
	// Output:
	// 09:00:00 batch/a leaves
	// 09:00:00 shop/db is kept by its budget
	// 09:00:01 batch/b leaves
	// 09:00:04 shop/db leaves
}

type preemptionClock struct{ now time.Time }

// preemptionPods is in the place of clientset.CoreV1().Pods(namespace).
type preemptionPods struct {
	eviction.PodClient // an Evictor that does not confirm calls nothing else

	namespace string
	clock     *preemptionClock
	refused   map[string]int // how often a budget refuses
}

// EvictV1 answers as the API server does: 429 while a budget does not allow it.
func (p *preemptionPods) EvictV1(_ context.Context, e *policyv1.Eviction) error {
	at := p.clock.now.Format(time.TimeOnly)
	if p.refused[e.Name] > 0 && at == "09:00:00" {
		fmt.Printf("%s %s/%s is kept by its budget\n", at, p.namespace, e.Name)
		refusal := apierrors.NewTooManyRequests(
			"Cannot evict pod as it would violate the pod's disruption budget.", 0)
		refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
		return refusal
	}
	fmt.Printf("%s %s/%s leaves\n", at, p.namespace, e.Name)
	return nil
}
