package eviction_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

var outcomes = []eviction.Outcome{
	eviction.Evicted, eviction.AlreadyGone, eviction.NotDue, eviction.Unmarked, eviction.Failed, 99,
}

// demand.md #125332, #107543: the timer of a pod must not stand in the way of, or
// evict, the pod that is created under its name.
func TestE4RecreatedPodWhileItsTimerRuns(t *testing.T) {
	c := running(t, newPod("p", withUID("old"), tolerates("a:60")))
	c.node(10, "n1", "a@10")
	c.leavesAt("old", 71)
	c.pod(50, newPod("p", withUID("new"), bound(50), tolerates("a:60")))
	c.leavesAt("new", 111)
	c.leavesAt("old", 71) // until we are told that it is gone
	c.ForgetPod("old")
	_, known := c.Verdict("old")
	require.False(t, known)
	require.Equal(t, 1, c.Waiting())
	work := c.startOne(111, "p")
	require.Equal(t, types.UID("new"), work.Pod.UID)
}

func TestE4RecreatedPodThatNeedNotLeave(t *testing.T) {
	c := running(t, newPod("p", withUID("old"), tolerates("a:60")))
	c.node(10, "n1", "a@10")
	c.ForgetPod("old")
	c.pod(50, newPod("p", withUID("new"), bound(50), tolerates("a")))
	c.idle(1e6)
}

// The action on the old pod is under way when the new one comes.
func TestE4RecreatedPodWhileTheActionIsInFlight(t *testing.T) {
	for _, outcome := range outcomes {
		c := runningWith(t, twoSeconds, newPod("p", withUID("old")))
		c.node(10, "n1", "a@10")
		old := c.start(10, "p")[0]
		c.ForgetPod("old")
		require.Zero(t, c.Waiting())
		c.pod(11, newPod("p", withUID("new"), bound(11), tolerates("a:60")))
		c.finish(12, old, outcome)
		c.leavesAt("new", 72)
		require.Equal(t, 1, c.Waiting())
		work := c.startOne(72, "p")
		require.Equal(t, types.UID("new"), work.Pod.UID)
		require.Zero(t, work.Tries)
	}
}

// A pod that is forgotten and seen again, as it was, is seen for the first time.
// Never are there two actions on it at a time.
func TestE4PodSeenAgainWhileTheActionIsInFlight(t *testing.T) {
	for _, outcome := range outcomes {
		c := runningWith(t, twoSeconds, newPod("p"))
		c.node(10, "n1", "a@10")
		old := c.start(10, "p")[0]
		c.ForgetPod("p")
		c.pod(11, newPod("p"))
		c.start(12)
		c.finish(13, old, outcome)
		work := c.start(13, "p")[0]
		c.finish(14, old, eviction.Evicted) // late, once more
		c.start(1000)
		c.finish(1000, work, eviction.Evicted)
		c.idle(2000)
	}
}

func TestE4PodForgottenDuringItsActionStaysForgotten(t *testing.T) {
	for _, outcome := range outcomes {
		c := runningWith(t, twoSeconds, newPod("p"))
		c.node(10, "n1", "a@10")
		work := c.start(10, "p")[0]
		c.ForgetPod("p")
		c.finish(11, work, outcome)
		c.idle(1e6)
		_, pods := c.Len()
		require.Zero(t, pods)
	}
}

// demand.md, same-name races (#125332, #107543): a worker of upstream that ends removes
// the entry of a newer timer. Here a result that comes late, or twice, can not touch what
// was started since.
func TestE4LateFinishChangesNothing(t *testing.T) {
	for _, outcome := range outcomes {
		c := runningWith(t, twoSeconds, newPod("p", marked))
		c.node(10, "n1", "a@10")
		first := c.start(10, "p")[0]
		c.finish(10, first, eviction.Failed)
		c.finish(11, first, outcome)
		second := c.startOne(12, "p")
		require.Equal(t, 1, second.Tries)
		require.True(t, second.Marked)

		c.finish(12, first, outcome)
		c.start(100) // the second is still in flight
		require.Equal(t, 1, c.Waiting())
		c.finish(100, second, eviction.Failed)
		third := c.startOne(102, "p")
		require.Equal(t, 2, third.Tries)
		require.True(t, third.Marked)
		c.finish(102, third, eviction.Evicted)
		c.finish(103, second, outcome)
		c.idle(1e6)
	}
}

func TestE4FinishOfNoWorkChangesNothing(t *testing.T) {
	c := running(t, newPod("p"))
	c.node(10, "n1", "a@10")
	for _, outcome := range outcomes {
		c.finish(11, eviction.Work{}, outcome)
		c.finish(11, eviction.Work{Pod: eviction.Key{Namespace: "ns", Name: "p", UID: "p"}, Node: "n1"}, outcome)
	}
	c.start(11, "p")
}

func TestE4NeverTwoActionsOnOnePod(t *testing.T) {
	c := running(t, newPod("p"))
	c.node(10, "n1", "a@10")
	work := c.start(10, "p")[0]
	c.node(11, "n1", "a@10", "b@11")
	c.pod(12, newPod("p", tolerates("b")))
	c.node(13, "n1")
	c.node(14, "n1", "c@14")
	c.start(1000)
	c.finish(1000, work, eviction.Evicted)
	c.idle(1e6)
}

// What is evicted is not evicted again, whatever its node does, until it is gone.
func TestE4EvictedOnceOnly(t *testing.T) {
	for _, outcome := range []eviction.Outcome{eviction.Evicted, eviction.AlreadyGone} {
		c := running(t, newPod("p"))
		c.node(10, "n1", "a@10")
		c.finish(11, c.start(10, "p")[0], outcome)
		c.stays("p", eviction.Gone)
		c.pod(12, newPod("p")) // the cache does not know yet
		c.pod(12, newPod("p", marked))
		c.node(13, "n1")
		c.node(14, "n1", "b@14")
		c.idle(1000)
		c.ForgetPod("p")
		_, pods := c.Len()
		require.Zero(t, pods)
	}
}

func TestE4SameNameInTwoNamespaces(t *testing.T) {
	other := newPod("p", withUID("other"), tolerates("a:60"))
	other.Namespace = "other"
	c := running(t, newPod("p", tolerates("a:30")), other)
	c.node(10, "n1", "a@10")
	require.Equal(t, "ns", c.startOne(41, "p").Pod.Namespace)
	require.Equal(t, "other", c.startOne(71, "p").Pod.Namespace)
}

// It cannot happen to a real pod, and must not bring our books into disorder.
func TestPodThatChangesItsNodeIsSeenForTheFirstTime(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")), newPod("q"))
	c.node(10, "n1", "a@10")
	c.node(10, "n2", "a@10")
	c.pod(50, newPod("p", on("n2"), bound(50), tolerates("a:60")))
	c.leavesAt("p", 111)
	c.start(50, "q")
	c.ForgetPod("p")
	c.ForgetPod("q")
	c.ForgetNode(at(60), "n1")
	c.ForgetNode(at(60), "n2")
	require.Equal(t, "0 nodes, 0 pods, 0 pending", c.String())
}

func TestMemoryIsEmptyAfterAllIsForgotten(t *testing.T) {
	c := startUp(t, 0)
	for i, name := range []string{"p", "q", "r", "s"} {
		c.pod(float64(i), newPod(name, on("n"+name), tolerates("a:60")))
		c.pod(float64(i), newPod(name+"2", on("n"+name)))
	}
	c.node(5, "np", "a")
	c.node(5, "nq", "a")
	c.Synced()
	require.Equal(t, "4 nodes, 8 pods, 4 pending", c.String())
	inFlight := c.start(6, "p2", "q2")
	c.ForgetNode(at(7), "np")
	require.Equal(t, "4 nodes, 8 pods, 3 pending", c.String()) // p2 is in flight
	for _, name := range []string{"s", "p", "r", "q"} {
		c.ForgetPod(types.UID(name))
		c.ForgetPod(types.UID(name + "2"))
	}
	require.Equal(t, "1 nodes, 0 pods, 0 pending", c.String())
	c.ForgetNode(at(8), "nq")
	require.Equal(t, "0 nodes, 0 pods, 0 pending", c.String())
	for _, work := range inFlight {
		c.finish(9, work, eviction.Failed)
	}
	require.Equal(t, "0 nodes, 0 pods, 0 pending", c.String())
	_, ok := c.Next(at(1e6))
	require.False(t, ok)
}

// Work that was handed out is data: what is observed later does not change it.
func TestWorkDoesNotChangeWhileItIsInFlight(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10, "n1", "a@10", "NR@10")
	work := c.start(10, "p")[0]
	before := work.Reconsider(newPod("p", tolerates("a:60")), newNode("n1", "a@10", "NR@10"), at(20))
	c.node(11, "n1", "UN@11", "a@11", "b")
	c.pod(12, newPod("p", tolerates("NR", "a")))
	c.Hold(at(13), func(*corev1.Taint) bool { return true })
	c.ForgetNode(at(14), "n1")
	require.Equal(t, "NR", short(work.Verdict.Taint.Key))
	after := work.Reconsider(newPod("p", tolerates("a:60")), newNode("n1", "a@10", "NR@10"), at(20))
	require.Equal(t, before, after)
	require.Equal(t, 10*time.Second, after.Due.Sub(at(0)))
}

func short(key string) string {
	if key == notReady {
		return "NR"
	}
	return key
}
