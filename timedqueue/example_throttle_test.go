package timedqueue_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// evicted is the result of an eviction, which tells how many requests were sent.
type evicted struct{ requests int }

func (e evicted) Unspent(granted int) int { return granted - e.requests }

// evictions is a queue that takes such results.
type evictions struct {
	*timedqueue.Queue[string, struct{}]
}

func (e evictions) Finish(now time.Time, pod name, _ evicted) {
	e.Queue.Finish(now, pod, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
}

// A controller may send two requests a second. Taints take one request each,
// evictions take two, and half of the requests are for evictions. An eviction
// that turns out not to be needed returns its requests.
func ExampleThrottle() {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	queue := timedqueue.QueueConfig[string, struct{}]{}
	taints, taintsErr := timedqueue.NewQueue(queue, now)
	pods, podsErr := timedqueue.NewQueue(queue, now)
	taint := func(context.Context, name) timedqueue.Result {
		return timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	}
	evict := func(_ context.Context, pod name) evicted {
		if pod.Key == "evict pod-0" {
			return evicted{requests: 0} // it is gone: nothing was sent
		}
		return evicted{requests: 2}
	}
	requests, err := timedqueue.NewThrottle(timedqueue.ThrottleConfig{
		Limit: 2,
		Kinds: []timedqueue.Kind{
			{Name: "taints", Source: timedqueue.Jobs(taints, taint), Reserved: 0.5},
			{Name: "evictions", Source: timedqueue.Jobs(evictions{pods}, evict), Reserved: 0.5, Cost: 2},
		},
	}, now)
	if taintsErr != nil || podsErr != nil || err != nil {
		fmt.Println(taintsErr, podsErr, err)
		return
	}
	for i := range 4 {
		taints.Add(fmt.Sprint("taint node-", i), struct{}{}, now)
		pods.Add(fmt.Sprint("evict pod-", i), struct{}{}, now)
	}
	for range 8 {
		for job, ok := requests.Start(now); ok; job, ok = requests.Start(now) {
			fmt.Println(now.Format("05.0"), job.Task().(name).Key)
			job.Perform(context.Background())
			job.Finish(now)
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
