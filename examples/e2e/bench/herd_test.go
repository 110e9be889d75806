package bench

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/controller/tainteviction"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// workers is how many evictions are under way at a time, here and in the
// programs.
const workers = 16

// A herd counts goroutines while all pods are evicted at once.
type herd struct {
	before  int
	most    atomic.Int64
	evicted atomic.Int64
	all     chan struct{}
	size    int64
}

func newHerd(size int) *herd {
	return &herd{before: runtime.NumGoroutine(), all: make(chan struct{}), size: int64(size)}
}

// evict stands for the calls that evict a pod, and takes a moment like them.
func (h *herd) evict() {
	for now, most := int64(runtime.NumGoroutine()), h.most.Load(); now > most; most = h.most.Load() {
		if h.most.CompareAndSwap(most, now) {
			break
		}
	}
	runtime.Gosched()
	if h.evicted.Add(1) == h.size {
		close(h.all)
	}
}

func (h *herd) report(b *testing.B) {
	b.ReportMetric(float64(h.most.Load()-int64(h.before)), "goroutines")
	b.ReportMetric(0, "ns/op")
}

// All pods have been due since before the dispatcher runs.
func herdOurs(tb testing.TB, pending int) work {
	var h *herd
	return work{
		op: func() {
			h = newHerd(pending)
			tracker, _ := newTracker(tb, unreachable(pending))
			dispatcher, err := timedqueue.NewDispatcher(tracker, func(context.Context, eviction.Task) eviction.Result {
				h.evict()
				return eviction.Result{Outcome: eviction.OutcomeEvicted}
			}, timedqueue.DispatcherConfig{Workers: workers})
			if err != nil {
				tb.Fatal(err)
			}
			for _, pod := range intolerant(pending) {
				tracker.ObservePod(time.Now(), pod)
			}
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- dispatcher.Run(ctx) }()
			<-h.all
			stop()
			if err := <-ended; err != nil {
				tb.Fatal(err)
			}
			if most := h.most.Load(); most > int64(h.before+workers+8) {
				tb.Fatalf("%d goroutines at once for %d workers", most-int64(h.before), workers)
			}
		},
		report: func(b *testing.B) { h.report(b) },
	}
}

// intolerant makes pods that have to leave at once.
func intolerant(n int) []*corev1.Pod {
	pods := podsOn(unreachable(n), n)
	for _, pod := range pods {
		pod.Spec.Tolerations = nil
	}
	return pods
}

// Upstream: TimedWorkerQueue.AddWork with a time that comes for all together.
func herdUpstream(_ testing.TB, pending int) work {
	var h *herd
	return work{
		op: func() {
			h = newHerd(pending)
			timers := tainteviction.CreateWorkerQueue(func(context.Context, time.Time, *tainteviction.WorkArgs) error {
				h.evict()
				return nil
			})
			now := time.Now()
			due := now.Add(time.Duration(pending) * 10 * time.Microsecond) // when all have been added
			for _, pod := range intolerant(pending) {
				timers.AddWork(context.Background(), tainteviction.NewWorkArgs(pod.Name, pod.Namespace), now, due)
			}
			<-h.all
		},
		report: func(b *testing.B) { h.report(b) },
	}
}
