package eviction_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
)

// Run with -benchmem. The tolerations are those that every pod gets by default.

func defaultTolerations() []corev1.Toleration { return tolerationList("NR:300", "UN:300") }

func BenchmarkDecide(b *testing.B) {
	on := []eviction.Taint{since("UN@0", 1), since("a", 0)}
	pod := resident("NR:300", "UN:300", "a")
	b.ReportAllocs()
	for b.Loop() {
		if !eviction.Decide(on, pod, taints.Matcher{}).Leaves() {
			b.Fatal("it leaves")
		}
	}
}

// A node of 110 pods gets a taint, and loses it again. One metric is the time
// to decide the 110 pods when the taint comes, and to set their timers. The
// other is the time to cancel these timers when it goes.
func BenchmarkTaintANodeOf110Pods(b *testing.B) {
	tracker, err := eviction.NewTracker(eviction.Config{}, at(0))
	if err != nil {
		b.Fatal(err)
	}
	well, ill := newNode("n1"), newNode("n1", "UN@10")
	tracker.ObserveNode(at(0), well)
	for i := range 110 {
		pod := newPod(fmt.Sprintf("pod-%d", i))
		pod.Spec.Tolerations = defaultTolerations()
		tracker.ObservePod(at(0), pod)
	}
	tracker.MarkSynced()
	now := at(10)
	var set, cancelled time.Duration
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		begin := time.Now()
		tracker.ObserveNode(now, ill)
		tainted := time.Now()
		if tracker.Waiting() != 110 {
			b.Fatal(tracker.Waiting())
		}
		tracker.ObserveNode(now, well)
		cancelled += time.Since(tainted)
		set += tainted.Sub(begin)
	}
	b.ReportMetric(float64(set.Nanoseconds())/float64(b.N), "ns/110-decided")
	b.ReportMetric(float64(cancelled.Nanoseconds())/float64(b.N), "ns/110-cancelled")
}

const million = 1_000_000

// crowded is a tracker with a million pods that are due at many times, on
// 10,000 tainted nodes. It returns their UIDs as well, those of a node side by
// side.
func crowded(b *testing.B, config eviction.Config) (*eviction.Tracker, []types.UID) {
	b.Helper()
	tracker, err := eviction.NewTracker(config, at(0))
	if err != nil {
		b.Fatal(err)
	}
	return tracker, fill(tracker, million, 300)
}

// A pod that is bound to a tainted node, and deleted.
func BenchmarkAddAndCancelAmongAMillion(b *testing.B) {
	tracker, _ := crowded(b, eviction.Config{})
	pods := make([]*corev1.Pod, 1024)
	for i := range pods {
		pods[i] = newPod("another", withUID(types.UID(fmt.Sprintf("another-%d", i))),
			on(nodeName(i*podsPerNode)))
		pods[i].Spec.Tolerations = defaultTolerations()
	}
	now, i := at(301), 0
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		p := pods[i%len(pods)]
		i++
		tracker.ObservePod(now, p)
		if tracker.Waiting() != million+1 {
			b.Fatal(tracker.Waiting())
		}
		tracker.ForgetPod(now, p.UID)
	}
}

// A pod that is known tolerates its node for ever, and then not: its timer
// alone. In turn it is one of a thousand pods, at random any of the million.
func BenchmarkCancelAndSetATimerAmongAMillion(b *testing.B) {
	for _, test := range []struct {
		name   string
		choose func(i int, random *rand.Rand) int
	}{
		{"in turn", func(i int, _ *rand.Rand) int { return i % 1024 * podsPerNode }},
		{"at random", func(_ int, random *rand.Rand) int { return random.IntN(million) }},
	} {
		b.Run(test.name, func(b *testing.B) {
			tracker, uids := crowded(b, eviction.Config{})
			names := make([]string, million/podsPerNode)
			for n := range names {
				names[n] = nodeName(n * podsPerNode)
			}
			pod, random := newPod("p"), rand.New(rand.NewPCG(1, 0))
			limited, endless := defaultTolerations(), tolerationList("*")
			now, i := at(301), 0
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				k := test.choose(i, random)
				i++
				pod.UID, pod.Spec.NodeName, pod.Spec.Tolerations = uids[k], names[k/podsPerNode], endless
				tracker.ObservePod(now, pod)
				if tracker.Waiting() != million-1 {
					b.Fatal(tracker.Waiting())
				}
				pod.Spec.Tolerations = limited
				tracker.ObservePod(now, pod)
			}
		})
	}
}

// What one pending pod costs, besides the strings and tolerations of its
// object.
func BenchmarkMemoryOfAMillionPending(b *testing.B) {
	for name, config := range map[string]eviction.Config{
		"plain":                   {},
		"budgets by node":         budgets(perNode(1, 1)),
		"budgets by namespace":    budgets(perNamespace(1, 1)),
		"low priority goes first": {LowPriorityFirst: true},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before := heapInUse()
				tracker, _ := crowded(b, config)
				if tracker.Waiting() != million {
					b.Fatal(tracker.Waiting())
				}
				b.ReportMetric(float64(heapInUse()-before)/million-keyStrings, "B/pod")
				runtime.KeepAlive(tracker)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// 200,000 pods become due together, and each is handed out and evicted. With
// budgets, time goes on to when the next pod has its tokens. The metric is the
// time of the whole run by pod, so it includes finding out that pods have to
// wait.
func BenchmarkDrain(b *testing.B) {
	const pods = 200_000
	for _, test := range []struct {
		name   string
		config eviction.Config
	}{
		{"unlimited", eviction.Config{}},
		{"by namespace and node", budgets(perNamespace(1000, 10), perNode(1, 1))},
		{"by node and overall", budgets(perNode(1, 1), overall(2000, 100))},
		{"low priority first", eviction.Config{LowPriorityFirst: true}},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				tracker, err := eviction.NewTracker(test.config, at(0))
				if err != nil {
					b.Fatal(err)
				}
				fill(tracker, pods, 300)
				b.StartTimer()
				drain(b, tracker)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pods, "ns/pod")
		})
	}
}

func drain(b *testing.B, tracker *eviction.Tracker) {
	b.Helper()
	for now := at(1e6); ; {
		task, ok := tracker.Start(now)
		if ok {
			tracker.Finish(now, task, eviction.Result{Outcome: eviction.OutcomeEvicted})
			continue
		}
		next, some := tracker.Next(now)
		if !some {
			break
		}
		now = next
	}
	if tracker.Waiting() != 0 {
		b.Fatal(tracker.Waiting())
	}
}

// C3: the longest turns at 100,000 nodes and 1,000,000 pods while all nodes are
// not ready and all pods are due. They are held, the hold ends, and metrics and a
// page are read in between. The metric is the longest single call of each kind,
// which is how long a lock is held.
func BenchmarkC3LongestTurns(b *testing.B) {
	const nodes, each = 100_000, 10
	tracker, err := eviction.NewTracker(eviction.Config{
		Budgets: []eviction.Budget{perNode(1, 1)}, Holds: someHolds,
	}, at(0))
	if err != nil {
		b.Fatal(err)
	}
	pod := newPod("p")
	pod.Spec.Tolerations = defaultTolerations()
	for n := range nodes {
		name := fmt.Sprint("node-", n)
		tracker.ObserveNode(at(10), newNode(name, fmt.Sprintf("UN@%d", n%10)))
		for p := range each {
			pod.Spec.NodeName, pod.Name = name, fmt.Sprintf("pod-%d-%d", n, p)
			pod.UID = types.UID(pod.Name)
			tracker.ObservePod(at(10), pod)
		}
	}
	tracker.MarkSynced()
	longest := map[string]time.Duration{}
	turn := func(name string, call func()) {
		began := time.Now()
		call()
		longest[name] = max(longest[name], time.Since(began))
	}
	starts := func(name string) { // until there is nothing to put aside or to take back
		for {
			var ok bool
			turn(name, func() { _, ok = tracker.Start(at(400)) })
			if next, some := tracker.Next(at(400)); !some || ok || next.After(at(400)) {
				return
			}
		}
	}
	for b.Loop() {
		turn("hold", func() { tracker.SetHold(at(400), "ours", "", true) })
		starts("start-held")
		if tracker.Parked() != nodes*each {
			b.Fatal(tracker.Parked())
		}
		turn("release", func() { tracker.SetHold(at(400), "ours", "", false) })
		turn("hold", func() { tracker.SetHold(at(400), "ours", "", true) })
		starts("start-held-again")
		turn("node", func() { tracker.ObserveNode(at(400), newNode("node-7")) })
		turn("node", func() { tracker.ObserveNode(at(400), newNode("node-7", "UN@7")) })
		turn("metrics", func() {
			tracker.Overdue(at(400))
			tracker.Delayed("node")
			tracker.Acting()
		})
		var waiting []string
		turn("page", func() { waiting = tracker.Nodes() })
		for part := range slices.Chunk(waiting, 20) {
			turn("page", func() {
				for _, node := range part {
					for range tracker.PendingOn(node) {
						continue
					}
				}
			})
		}
	}
	for name, took := range longest {
		b.ReportMetric(float64(took.Microseconds())/1000, "ms/"+name)
	}
}
