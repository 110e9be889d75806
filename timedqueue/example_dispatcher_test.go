package timedqueue_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// A dispatcher drives a queue in real time. The queue is changed inside Update,
// which wakes the dispatcher.
func ExampleDispatcher() {
	type item = timedqueue.Item[string, time.Duration]

	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, time.Duration]{}, time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	evict := func(_ context.Context, task item) timedqueue.Result {
		fmt.Println("evicting", task.Key, "after", task.Value)
		if task.Key == "pod-c" {
			stop()
		}
		return timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	}
	// More workers than one would print in any order.
	dispatcher, err := timedqueue.NewDispatcher(queue, evict, timedqueue.DispatcherConfig{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}

	start := time.Now()
	dispatcher.Update(func() {
		for pod, toleration := range map[string]time.Duration{
			"pod-c": 3 * time.Millisecond, "pod-a": time.Millisecond,
			"pod-b": 2 * time.Millisecond, "pod-d": time.Hour,
		} {
			queue.Add(pod, toleration, start.Add(toleration))
		}
	})

	if err := dispatcher.Run(ctx); err != nil { // an action panicked
		fmt.Println(err)
		return
	}
	fmt.Println("still waiting:", queue.Len())
	// Output:
	// evicting pod-a after 1ms
	// evicting pod-b after 2ms
	// evicting pod-c after 3ms
	// still waiting: 1
}
