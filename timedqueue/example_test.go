package timedqueue_test

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"

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
	queue.Set("a3", "zone-b", noon) // its label was changed

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

// MaxActing with holders: the pods of one node of a zone are evicted at a time.
func ExampleBudget_maxActing() {
	type pod struct{ zone, node string }
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, pod]{
		Budgets: []timedqueue.Budget[string, pod]{{
			Limit:     rate.Inf,
			ShareOf:   func(_ string, p pod) string { return p.zone },
			MaxActing: 1,
			HolderOf:  func(_ string, p pod) string { return p.node },
		}},
	}, noon)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"n1-a", "n2-a", "n1-b", "n2-b"} {
		queue.Add(name, pod{"zone", name[:2]}, noon)
	}
	var acting []timedqueue.Item[string, pod]
	start := func() {
		for item, ok := queue.Start(noon); ok; item, ok = queue.Start(noon) {
			fmt.Println("evicting", item.Key)
			acting = append(acting, item)
		}
	}
	start()
	fmt.Println("node n1 is done")
	for _, item := range acting { // the pods are gone
		queue.Finish(noon, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
	}
	start()
	// Output:
	// evicting n1-a
	// evicting n1-b
	// node n1 is done
	// evicting n2-a
	// evicting n2-b
}

// Set says what is due each time that the object is seen. It ends no backoff,
// so a key whose failure changes its own object is not tried at once again.
func ExampleQueue_Set() {
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, string]{
		Backoff: timedqueue.Backoff{Initial: time.Second, Max: time.Minute},
	}, noon)
	if err != nil {
		fmt.Println(err)
		return
	}
	now := noon
	for observed := range 3 {
		queue.Set("node", fmt.Sprint("version ", observed), now)
		item, _ := queue.Start(now)
		fmt.Println(now.Format(time.TimeOnly), item.Value)
		queue.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeFailed})
		queue.Set("node", "with a condition that tells the failure", now)
		now, _ = queue.Next(now)
	}
	queue.Retry("node") // what was missing is there now
	now, _ = queue.Next(now)
	fmt.Println(now.Format(time.TimeOnly), "tried again")
	// Output:
	// 12:00:00 version 0
	// 12:00:01 version 1
	// 12:00:03 version 2
	// 12:00:03 tried again
}
