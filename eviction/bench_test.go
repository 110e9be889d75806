package eviction_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
)

// Run with -benchmem. The tolerations are those that every pod gets by default.

func defaultTolerations() []corev1.Toleration { return tolerationList("NR:300", "UN:300") }

func BenchmarkDecide(b *testing.B) {
	on := []eviction.Taint{since("UN@0", 0, 1), since("a", 0, 0)}
	pod := settled("NR:300", "UN:300", "a")
	b.ReportAllocs()
	for b.Loop() {
		if !eviction.Decide(on, pod, taints.Matcher{}).Leaves() {
			b.Fatal("it leaves")
		}
	}
}

// A node of 110 pods gets a taint, and loses it again: two times 110 decisions,
// 110 timers set and 110 cancelled.
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
	tracker.Synced()
	now := at(10)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		tracker.ObserveNode(now, ill)
		if tracker.Waiting() != 110 {
			b.Fatal(tracker.Waiting())
		}
		tracker.ObserveNode(now, well)
	}
}

const million = 1_000_000

const podsPerNode = 100

// crowded is a tracker with a million pods that are due at many times, on 10,000
// tainted nodes. It returns their UIDs as well, those of a node side by side.
func crowded(b *testing.B) (*eviction.Tracker, []types.UID) {
	b.Helper()
	tracker, err := eviction.NewTracker(eviction.Config{}, at(0))
	if err != nil {
		b.Fatal(err)
	}
	uids := make([]types.UID, 0, million)
	pod := newPod("p")
	pod.Spec.Tolerations = defaultTolerations()
	for n := range million / podsPerNode {
		node := newNode(nodeName(n*podsPerNode), fmt.Sprintf("UN@%d", n%300))
		tracker.ObserveNode(at(300), node)
		pod.Spec.NodeName = node.Name
		for p := range podsPerNode {
			pod.Name = fmt.Sprintf("some-deployment-5d8f7c6b9-%02d", p)
			pod.UID = types.UID(fmt.Sprintf("c56a4180-65aa-42ec-a945-%012d", len(uids)))
			uids = append(uids, pod.UID)
			tracker.ObservePod(at(300), pod)
		}
	}
	tracker.Synced()
	return tracker, uids
}

// nodeName is the name of the node that the pod of that number is on.
func nodeName(pod int) string { return fmt.Sprintf("node-%05d", pod/podsPerNode) }

// A pod that is bound to a tainted node, and deleted.
func BenchmarkAddAndCancelAmongAMillion(b *testing.B) {
	tracker, _ := crowded(b)
	pods := make([]*corev1.Pod, 1024)
	for i := range pods {
		pods[i] = newPod("another", withUID(types.UID(fmt.Sprintf("another-%d", i))), on(nodeName(i*podsPerNode)))
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
		tracker.ForgetPod(p.UID)
	}
}

// A pod that is known tolerates its node for ever, and then not: its timer alone.
// In turn it is one of a thousand pods, at random any of the million.
func BenchmarkCancelAndSetATimerAmongAMillion(b *testing.B) {
	for _, test := range []struct {
		name   string
		choose func(i int, random *rand.Rand) int
	}{
		{"in turn", func(i int, _ *rand.Rand) int { return i % 1024 * podsPerNode }},
		{"at random", func(_ int, random *rand.Rand) int { return random.IntN(million) }},
	} {
		b.Run(test.name, func(b *testing.B) {
			tracker, uids := crowded(b)
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

// What one pending pod costs, beside the strings and tolerations of its object.
func BenchmarkMemoryOfAMillionPending(b *testing.B) {
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		tracker, _ := crowded(b)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if tracker.Waiting() != million {
			b.Fatal(tracker.Waiting())
		}
		strings := 32 + 48 // the name and the UID, in their size classes
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/million-float64(strings), "B/pod")
		runtime.KeepAlive(tracker)
	}
	b.ReportMetric(0, "ns/op")
}

// A million pods become due together, and each is handed out and evicted.
func BenchmarkDrainPerPod(b *testing.B) {
	tracker, _ := crowded(b)
	now := at(1e6)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		work, ok := tracker.Start(now)
		if !ok {
			b.StopTimer()
			tracker, _ = crowded(b)
			b.StartTimer()
			continue
		}
		tracker.Finish(now, work, eviction.Report{Outcome: eviction.Evicted})
	}
}
