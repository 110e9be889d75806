package timedqueue_test

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/kubelife/lifecycle/timedqueue"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// A queue has no clock: whoever uses it says what time it is. Here one node is
// acted on every ten seconds, and a node that had recovered costs nothing.
func Example() {
	queue, err := timedqueue.New[string, string](timedqueue.Config{Limit: 0.1}, noon)
	if err != nil {
		fmt.Println(err)
		return
	}
	queue.Add("node-1", "unreachable", noon)
	queue.Add("node-2", "unreachable", noon.Add(2*time.Second))
	queue.Add("node-3", "not ready", noon.Add(2*time.Second))
	fmt.Println("added again:", queue.Add("node-1", "not ready", noon))

	for now := noon; now.Before(noon.Add(time.Minute)); {
		item, ok := queue.Start(now)
		if !ok {
			next, waits := queue.Next(now)
			if !waits {
				break
			}
			now = next
			continue
		}
		fmt.Println(now.Format(time.TimeOnly), item.Key, item.Value)
		result := timedqueue.Result{Outcome: timedqueue.Done}
		if item.Key == "node-2" {
			result.Outcome = timedqueue.Nothing // it has recovered
		}
		queue.Finish(now, item, result)
	}
	fmt.Println("left:", queue.Len())
	// Output:
	// added again: false
	// 12:00:00 node-1 unreachable
	// 12:00:10 node-2 unreachable
	// 12:00:10 node-3 not ready
	// left: 0
}

// Failed actions come back, each after a wait that doubles, unless the action
// knows better when to come back.
func ExampleQueue_Finish() {
	queue, err := timedqueue.New[string, int](timedqueue.Config{
		Limit:   rate.Inf,
		Backoff: timedqueue.Backoff{First: time.Second, Max: time.Minute},
	}, noon)
	if err != nil {
		fmt.Println(err)
		return
	}
	queue.Add("pod", 0, noon)
	now := noon
	for _, result := range []timedqueue.Result{
		{Outcome: timedqueue.Failed},
		{Outcome: timedqueue.Failed},
		{Outcome: timedqueue.Failed, Wait: 10 * time.Second}, // the server said so
		{Outcome: timedqueue.Done},
	} {
		item, _ := queue.Start(now)
		fmt.Println(now.Format(time.TimeOnly), "failed before:", item.Tries, "now:", result.Outcome)
		queue.Finish(now, item, result)
		now, _ = queue.Next(now)
	}
	fmt.Println("left:", queue.Len())
	// Output:
	// 12:00:00 failed before: 0 now: Failed
	// 12:00:01 failed before: 1 now: Failed
	// 12:00:03 failed before: 2 now: Failed
	// 12:00:13 failed before: 3 now: Done
	// left: 0
}

// What happens to a key while it is acted on wins over the action's result.
func ExampleQueue_Remove() {
	queue, err := timedqueue.New[string, string](timedqueue.Config{Limit: rate.Inf}, noon)
	if err != nil {
		fmt.Println(err)
		return
	}
	queue.Add("pod", "first", noon)
	item, _ := queue.Start(noon)

	queue.Remove("pod")
	queue.Add("pod", "second", noon)
	_, started := queue.Start(noon)
	fmt.Println("started while the first acts:", started)

	queue.Finish(noon, item, timedqueue.Result{Outcome: timedqueue.Done})
	item, _ = queue.Start(noon)
	fmt.Println("then:", item.Value)
	// Output:
	// started while the first acts: false
	// then: second
}

// One queue a zone, each with its own rate: a zone that is held back does not
// hold back the others.
func ExampleGroup() {
	group, err := timedqueue.NewGroup[string, string, struct{}](timedqueue.Config{Limit: 0.1}, noon)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, node := range []string{"a1", "a2", "a3"} {
		group.Add("zone-a", node, struct{}{}, noon)
	}
	for _, node := range []string{"b1", "b2", "b3"} {
		group.Add("zone-b", node, struct{}{}, noon)
	}
	group.SetLimit(noon, "zone-a", 0) // fully disrupted: hold
	group.SetLimit(noon, "zone-b", 1)
	group.Move("a3", "zone-b") // its label was changed
	group.Retire("zone-b")     // to be forgotten with its last key

	for now := noon; ; {
		item, ok := group.Start(now)
		if !ok {
			next, waits := group.Next(now)
			if !waits {
				break
			}
			now = next
			continue
		}
		fmt.Println(now.Format(time.TimeOnly), item.Key)
		group.Finish(now, item, timedqueue.Result{})
	}
	fmt.Println("zone-a still holds", group.LenOf("zone-a"))
	// Output:
	// 12:00:00 a3
	// 12:00:01 b1
	// 12:00:02 b2
	// 12:00:03 b3
	// zone-a still holds 2
}

// A dispatcher drives a queue in real time. Whoever changes the queue locks the
// dispatcher; Unlock wakes it.
func ExampleDispatcher() {
	type item = timedqueue.Item[string, time.Duration]

	queue, err := timedqueue.New[string, time.Duration](timedqueue.Config{Limit: rate.Inf}, time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	dispatcher, err := timedqueue.NewDispatcher(timedqueue.DispatcherConfig[item, timedqueue.Result]{
		Core: queue,
		Act: func(_ context.Context, work item) timedqueue.Result {
			fmt.Println("evicting", work.Key, "after", work.Value)
			if work.Key == "pod-c" {
				stop()
			}
			return timedqueue.Result{Outcome: timedqueue.Done}
		},
		Workers: 1, // more would print in any order
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	start := time.Now()
	dispatcher.Lock()
	for pod, toleration := range map[string]time.Duration{
		"pod-c": 3 * time.Millisecond, "pod-a": time.Millisecond, "pod-b": 2 * time.Millisecond, "pod-d": time.Hour,
	} {
		queue.Add(pod, toleration, start.Add(toleration))
	}
	dispatcher.Unlock()

	dispatcher.Run(ctx) // returns when all that it started has ended
	fmt.Println("still waiting:", queue.Len())
	// Output:
	// evicting pod-a after 1ms
	// evicting pod-b after 2ms
	// evicting pod-c after 3ms
	// still waiting: 1
}
