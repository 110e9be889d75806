package observer

import (
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
)

const benchmarked = 100_000

func benchmarkTracker(b *testing.B) (*Tracker, []string, time.Time) {
	b.Helper()
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	tracker, err := NewTracker(Config{ZoneOf: zoneOfName}.tracker(), now)
	if err != nil {
		b.Fatal(err)
	}
	names := namesOf(benchmarked)
	for _, name := range names {
		tracker.ObserveNode(now, nodeOf(name, corev1.ConditionTrue))
	}
	tracker.MarkSynced(now)
	for _, name := range names {
		tracker.ObserveLease(now, leaseOf(name, now, "1"))
	}
	tracker.Start(now)
	return tracker, names, now
}

// H10: what a Filter asks of one of 100,000 nodes, in the order of a snapshot.
func BenchmarkFilter(b *testing.B) {
	tracker, names, _ := benchmarkTracker(b)
	view := tracker.View()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if view.Silent(names[i]) {
			b.Fatal(names[i])
		}
		i = (i + 1) % len(names)
	}
}

// H10: what a Score asks of one of 100,000 nodes, on all processors.
func BenchmarkScore(b *testing.B) {
	tracker, names, _ := benchmarkTracker(b)
	view := tracker.View()
	b.ReportAllocs()
	var readers atomic.Int64
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := int(readers.Add(1)) * 1000; pb.Next(); i++ {
			if _, known := view.ZoneOf(names[i%len(names)]); !known {
				b.Fatal("unknown")
			}
		}
	})
}

// H3: what a quiet cluster of 100,000 nodes costs for each heartbeat, the visits
// at the ends of grace periods included.
func BenchmarkHeartbeat(b *testing.B) {
	tracker, names, now := benchmarkTracker(b)
	leases := make([]*coordinationv1.Lease, len(names))
	for i, name := range names {
		leases[i] = leaseOf(name, now, "1")
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		now = now.Add(100 * time.Microsecond)
		leases[i].Spec.RenewTime.Time = now
		tracker.ObserveLease(now, leases[i])
		if i%1000 == 0 {
			tracker.Start(now)
		}
		i = (i + 1) % len(names)
	}
}

// H10: what one of 3,000 nodes costs that fall silent together, and are heard.
func BenchmarkFallSilent(b *testing.B) {
	tracker, names, now := benchmarkTracker(b)
	const lost = 3_000
	b.ReportAllocs()
	for b.Loop() {
		for range 3 {
			now = now.Add(10 * time.Second)
			for _, name := range names[lost : lost+10] {
				tracker.ObserveLease(now, leaseOf(name, now, "1"))
			}
		}
		b.StopTimer()
		for _, name := range names[lost:] {
			tracker.ObserveLease(now, leaseOf(name, now, "1"))
		}
		b.StartTimer()
		for task, ok := tracker.Start(now); ok; task, ok = tracker.Start(now) {
			tracker.Finish(now, task, Result{})
		}
		for _, name := range names[:lost] {
			tracker.ObserveLease(now, leaseOf(name, now, "1"))
		}
		for task, ok := tracker.Start(now); ok; task, ok = tracker.Start(now) {
			tracker.Finish(now, task, Result{})
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lost, "ns/node")
}
