package eviction_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/eviction"
)

// heapInUse is what is reachable, in bytes.
func heapInUse() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // the first only finds what finalizers and pools still hold
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// keyStrings is what the name and the UID of a pod of fill take, in their size
// classes. Its namespace and its tolerations are shared.
const keyStrings = 32 + 48

// crowdOf is the number of pods of the tests of memory.
func crowdOf(t *testing.T) int {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector has memory of its own")
	}
	return eviction.Sized(100_000, 1_000_000)
}

// E8: a million pending pods are one heap. Upstream has 432 bytes, a timer and
// in the end a goroutine for each.
func TestE8MemoryOfAPendingPodIsBounded(t *testing.T) {
	for name, config := range map[string]eviction.Config{
		"without budgets": {},
		"budgets by node": budgets(perNode(0.001, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			pods := crowdOf(t)
			before, goroutines := heapInUse(), runtime.NumGoroutine()
			tracker, err := eviction.NewTracker(config, at(0))
			require.NoError(t, err)
			fill(tracker, pods, 300)
			each := (heapInUse()-before)/pods - keyStrings
			require.Equal(t, pods, tracker.Waiting())
			t.Logf("%d bytes a pod beyond the strings of its key", each)
			require.LessOrEqual(t, each, 190)
			require.Equal(t, goroutines, runtime.NumGoroutine())
			runtime.KeepAlive(tracker)
		})
	}
}

// E8: all are due, and budgets hold them. An overall budget costs no memory. A
// pod that waits for a share takes 16 bytes more, a slice of them up to twice
// as much.
func TestE8MemoryOfAPodThatABudgetHoldsIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		config eviction.Config
		most   int
	}{
		"by nodes": {budgets(perNode(0.001, 1)), 208},
		"overall":  {budgets(overall(0, 1)), 190},
	} {
		t.Run(name, func(t *testing.T) {
			pods := crowdOf(t)
			before := heapInUse()
			tracker, err := eviction.NewTracker(test.config, at(0))
			require.NoError(t, err)
			fill(tracker, pods, 300)
			started := 0
			for now := at(601); ; {
				if _, ok := tracker.Start(now); ok {
					started++
					continue
				}
				if next, ok := tracker.Next(now); !ok || next.After(now) {
					break
				}
			}
			each := (heapInUse()-before)/pods - keyStrings
			t.Logf("%d bytes a pod beyond the strings of its key, %d under way", each, started)
			require.LessOrEqual(t, each, test.most)
			runtime.KeepAlive(tracker)
		})
	}
}

// Attempts that have failed, and evictions that came and went, leave nothing
// behind.
func TestE8ChurnUsesNoMemory(t *testing.T) {
	c := running(t)
	churn := func(rounds int) {
		for i := range rounds {
			now := float64(i)
			c.node(now, "n1", "a")
			c.pod(now, newPod("p"))
			c.pod(now, newPod("q", tolerates("a:60")))
			c.finish(now, c.start(now, "p")[0], outcomes[i%len(outcomes)])
			c.ForgetPod(at(now), "p")
			c.ForgetPod(at(now), "q")
			c.ForgetNode(at(now), "n1")
		}
	}
	churn(100)
	before := heapInUse()
	churn(10_000)
	require.Less(t, heapInUse()-before, 100_000)
	nodes, pods := c.Len()
	require.Equal(t, []int{1, 0, 0}, []int{nodes, pods, c.Waiting()})
}

// E8: a pod that comes and goes costs no memory, nor does one that is observed
// again.
func TestE8ObservingAndForgettingAPodAllocatesNothing(t *testing.T) {
	tracker, err := eviction.NewTracker(eviction.Config{}, at(0))
	require.NoError(t, err)
	fill(tracker, 1100, 300)
	pod := newPod("another", on(nodeName(0)))
	pod.Spec.Tolerations = defaultTolerations()
	again := pod.DeepCopy()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		tracker.ObservePod(at(301), pod)
		tracker.ObservePod(at(301), again)
		tracker.ForgetPod(at(301), pod.UID)
	}))
}

// Start and Next are asked after each change of each pod.
func TestE8StartAndNextWithNothingDueAllocateNothing(t *testing.T) {
	tracker, err := eviction.NewTracker(budgets(perNode(0.001, 1)), at(0))
	require.NoError(t, err)
	fill(tracker, 1000, 300)
	tracker.MarkSynced()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = tracker.Start(at(1))
		_, _ = tracker.Next(at(1))
	}))
}
