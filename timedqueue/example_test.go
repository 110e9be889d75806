package timedqueue_test

import (
	"fmt"
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// A queue has no clock: the caller says what time it is. Here one node is
// acted on every ten seconds, and a node that had recovered costs nothing.
func Example() {
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, string]{
		Budgets: []timedqueue.Budget[string, string]{{Limit: 0.1}},
	}, noon)
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
		result := timedqueue.Result{Outcome: timedqueue.OutcomeDone}
		if item.Key == "node-2" {
			result.Outcome = timedqueue.OutcomeSkipped // it has recovered
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
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, int]{
		Backoff: timedqueue.Backoff{Initial: time.Second, Max: time.Minute},
	}, noon)
	if err != nil {
		fmt.Println(err)
		return
	}
	queue.Add("pod", 0, noon)
	now := noon
	for _, result := range []timedqueue.Result{
		{Outcome: timedqueue.OutcomeFailed},
		{Outcome: timedqueue.OutcomeFailed},
		{Outcome: timedqueue.OutcomeFailed, RetryAfter: 10 * time.Second}, // the server said so
		{Outcome: timedqueue.OutcomeDone},
	} {
		item, _ := queue.Start(now)
		fmt.Println(now.Format(time.TimeOnly), "failed before:", item.Attempts, "now:", result.Outcome)
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
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, string]{}, noon)
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

	queue.Finish(noon, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
	item, _ = queue.Start(noon)
	fmt.Println("then:", item.Value)
	// Output:
	// started while the first acts: false
	// then: second
}

// A budget by share: each zone has its own rate, and one that is held back does
// not hold back the others.
func ExampleBudget() {
	zoneOf := func(_, zone string) string { return zone }
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, string]{
		Budgets: []timedqueue.Budget[string, string]{{Name: "zone", ShareOf: zoneOf, Limit: 0.1}},
	}, noon)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, node := range []string{"a1", "a2", "a3"} {
		queue.Add(node, "zone-a", noon)
	}
	for _, node := range []string{"b1", "b2", "b3"} {
		queue.Add(node, "zone-b", noon)
	}
	queue.SetLimit(noon, "zone", "zone-a", 0) // fully disrupted: hold
	queue.SetLimit(noon, "zone", "zone-b", 1)
	queue.SetValue("a3", "zone-b") // its label was changed

	for now := noon; ; {
		item, ok := queue.Start(now)
		if !ok {
			next, waits := queue.Next(now)
			if !waits {
				break
			}
			now = next
			continue
		}
		fmt.Println(now.Format(time.TimeOnly), item.Key)
		queue.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
	}
	fmt.Println("held:", queue.Len())
	// Output:
	// 12:00:00 a3
	// 12:00:01 b1
	// 12:00:02 b2
	// 12:00:03 b3
	// held: 2
}

// Reserved parts: a flood of evictions does not starve the heartbeats, and no
// token waits for a kind without work.
func ExampleBudget_reserved() {
	kindOf := func(_, kind string) string { return kind }
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, string]{
		Budgets: []timedqueue.Budget[string, string]{{
			Limit: 10, Burst: 8, Reserved: map[string]float64{"heartbeat": 0.5},
		}},
		KindOf: kindOf,
	}, noon)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pod := range []string{"p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"} {
		queue.Add(pod, "eviction", noon)
	}
	for _, node := range []string{"n1", "n2"} {
		queue.Add(node, "heartbeat", noon)
	}
	for item, ok := queue.Start(noon); ok; item, ok = queue.Start(noon) {
		fmt.Print(item.Key, " ")
	}
	fmt.Println()
	// Output:
	// n1 p1 n2 p2 p3 p4 p5 p6
}
