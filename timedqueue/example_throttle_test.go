package timedqueue_test

import (
	"fmt"
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// A controller may send two requests a second. Taints take one request each,
// evictions take two, and half of the requests are for evictions. An eviction
// that turns out not to be needed returns its requests.
func ExampleThrottle() {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	queue := timedqueue.QueueConfig[string, struct{}]{}
	taints, taintsErr := timedqueue.NewQueue(queue, now)
	evictions, evictionsErr := timedqueue.NewQueue(queue, now)
	requests, err := timedqueue.NewThrottle(timedqueue.ThrottleConfig[name]{
		Limit: 2,
		Kinds: []timedqueue.Kind[name]{
			{Name: "taints", Source: taints, Reserved: 0.5},
			{Name: "evictions", Source: evictions, Reserved: 0.5, Cost: 2},
		},
	}, now)
	if taintsErr != nil || evictionsErr != nil || err != nil {
		fmt.Println(taintsErr, evictionsErr, err)
		return
	}
	for i := range 4 {
		taints.Add(fmt.Sprint("taint node-", i), struct{}{}, now)
		evictions.Add(fmt.Sprint("evict pod-", i), struct{}{}, now)
	}
	for range 8 {
		item, grant, ok := requests.Start(now)
		for ; ok; item, grant, ok = requests.Start(now) {
			fmt.Println(now.Format("05.0"), item.Key)
			if item.Key == "evict pod-0" {
				requests.Settle(now, grant, 2) // the pod is gone: nothing was sent
				continue
			}
			requests.Settle(now, grant, 0) // when the task has ended
		}
		now = now.Add(500 * time.Millisecond)
	}
	// Output:
	// 00.0 taint node-0
	// 01.0 taint node-1
	// 01.5 evict pod-0
	// 01.5 taint node-2
	// 02.0 evict pod-1
	// 02.5 taint node-3
	// 03.5 evict pod-2
}
