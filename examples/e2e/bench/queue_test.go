package bench

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler"

	"github.com/kubelife/lifecycle/timedqueue"
)

func queueComparisons() []comparison {
	return []comparison{
		{
			name: "remove and re-add a key", of: "waiting", sizes: []int{1_000, 10_000, 100_000, 1_000_000},
			ours: reAddOurs, upstream: reAddUpstream,
		},
		{name: "drain items that are due", of: "items", sizes: []int{10_000}, ours: drainOurs, upstream: drainUpstream},
		{name: "add items and drain them", of: "items", sizes: []int{10_000}, ours: fillAndDrain(drainOurs),
			upstream: fillAndDrain(drainUpstream)},
	}
}

// nodeUID is what the items carry besides their key. It is an interface, as
// upstream's is, and made once, so that neither side allocates for it.
var nodeUID any = "c56a4180-65aa-42ec-a945-5fd21dec0538"

type queue = timedqueue.Queue[string, any]

func newQueue(tb testing.TB) *queue {
	tb.Helper()
	q, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, any]{}, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	return q
}

// picked returns keys in the order in which they are taken, the same for both
// sides.
func picked(keys []string) func() string {
	random := rand.New(rand.NewPCG(1, 2))
	picks := make([]string, 1<<16)
	for i := range picks {
		picks[i] = keys[random.IntN(len(keys))]
	}
	i := 0
	return func() string {
		i++
		return picks[i%len(picks)]
	}
}

// A random key is removed and added again, due now, which is after all others.
func reAddOurs(tb testing.TB, waiting int) work {
	q := newQueue(tb)
	dispatcher := locked(tb, q)
	keys := names("node-", waiting)
	for _, key := range keys {
		q.Add(key, nodeUID, time.Now())
	}
	next := picked(keys)
	return work{op: func() {
		key := next()
		var removed, added bool
		dispatcher.Update(func() {
			removed = q.Remove(key)
			added = q.Add(key, nodeUID, time.Now())
		})
		if !removed || !added {
			tb.Fatal("the key was not waiting")
		}
	}}
}

// Upstream: RateLimitedTimedQueue.Remove and Add of
// pkg/controller/nodelifecycle/scheduler. The node lifecycle controller does
// this for each node that is not ready, at each of its passes.
func reAddUpstream(tb testing.TB, waiting int) work {
	q := scheduler.NewRateLimitedTimedQueue(flowcontrol.NewFakeAlwaysRateLimiter())
	keys := names("node-", waiting)
	for _, key := range keys {
		q.Add(key, nodeUID)
	}
	next := picked(keys)
	return work{op: func() {
		key := next()
		removed := q.Remove(key)
		added := q.Add(key, nodeUID)
		if !removed || !added {
			tb.Fatal("the key was not waiting")
		}
	}}
}

// All items are due and nothing limits them. A Dispatcher with one worker, as
// upstream has, performs them. An action only counts, and the last ends Run.
func drainOurs(tb testing.TB, items int) work {
	q := newQueue(tb)
	keys := names("node-", items)
	acted, stop := 0, func() {}
	act := func(context.Context, timedqueue.Item[string, any]) timedqueue.Result {
		if acted++; acted == items {
			stop()
		}
		return timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	}
	dispatcher, err := timedqueue.NewDispatcher(q, act, timedqueue.DispatcherConfig{})
	if err != nil {
		tb.Fatal(err)
	}
	return work{
		prepare: func() {
			for _, key := range keys {
				dispatcher.Update(func() { q.Add(key, nodeUID, time.Now()) })
			}
		},
		op: func() {
			var ctx context.Context
			ctx, stop = context.WithCancel(context.Background())
			acted = 0
			if err := dispatcher.Run(ctx); err != nil || acted != items || q.Len() > 0 {
				tb.Fatalf("acted on %d of %d items, %d are left: %v", acted, items, q.Len(), err)
			}
		},
	}
}

// Upstream: RateLimitedTimedQueue.Try with a limiter that lets everything pass.
// It gets a new queue each time, because Try leaves its keys in the queue's
// set.
func drainUpstream(tb testing.TB, items int) work {
	var q *scheduler.RateLimitedTimedQueue
	keys := names("node-", items)
	return work{
		prepare: func() {
			q = scheduler.NewRateLimitedTimedQueue(flowcontrol.NewFakeAlwaysRateLimiter())
			for _, key := range keys {
				q.Add(key, nodeUID)
			}
		},
		op: func() {
			acted := 0
			q.Try(klog.Background(), func(scheduler.TimedValue) (bool, time.Duration) {
				acted++
				return true, 0
			})
			if acted != items {
				tb.Fatalf("acted on %d of %d items", acted, items)
			}
		},
	}
}

// fillAndDrain puts the filling of a queue on the clock too.
func fillAndDrain(drain func(testing.TB, int) work) func(testing.TB, int) work {
	return func(tb testing.TB, items int) work {
		w := drain(tb, items)
		return work{op: func() {
			w.prepare()
			w.op()
		}}
	}
}
