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

// keyStrings is what the name and the UID of a pod of fill take, in their size classes.
// Its namespace and its tolerations are shared.
const keyStrings = 32 + 48

// E8: a million that wait are one heap. Upstream has 432 bytes, a timer and in the end a
// goroutine for each.
func TestE8MemoryOfAPendingPodIsBounded(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector has memory of its own")
	}
	pods := 1_000_000
	if testing.Short() {
		pods = 200_000
	}
	before, goroutines := heapInUse(), runtime.NumGoroutine()
	tracker, err := eviction.NewTracker(eviction.Config{}, at(0))
	require.NoError(t, err)
	uids := fill(tracker, pods, 300)
	runtime.KeepAlive(uids)
	uids = nil
	each := (heapInUse()-before)/pods - keyStrings
	require.Equal(t, pods, tracker.Waiting())
	t.Logf("%d bytes a pod beyond the strings of its key", each)
	require.LessOrEqual(t, each, 224)
	require.Equal(t, goroutines, runtime.NumGoroutine())
	runtime.KeepAlive(tracker)
	_ = uids
}

// Attempts that have failed, and evictions that came and went, leave nothing behind.
func TestE8ChurnUsesNoMemory(t *testing.T) {
	c := running(t)
	churn := func(rounds int) {
		for i := range rounds {
			now := float64(i)
			c.node(now, "n1", "a")
			c.pod(now, newPod("p"))
			c.pod(now, newPod("q", tolerates("a:60")))
			c.finish(now, c.start(now, "p")[0], outcomes[i%len(outcomes)])
			c.ForgetPod("p")
			c.ForgetPod("q")
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
