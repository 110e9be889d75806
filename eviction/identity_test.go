package eviction_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

var outcomes = []eviction.Outcome{
	eviction.OutcomeEvicted, eviction.OutcomeGone, eviction.OutcomeNotDue,
	eviction.OutcomeFailed, eviction.OutcomeBlocked,
	eviction.OutcomeDryRun, "", "Unknown",
}

// demand.md #125332, #107543: the timer of a pod must not stand in the way of,
// or evict, the pod that is created under its name.
func TestE4RecreatedPodWhileItsTimerRuns(t *testing.T) {
	c := running(t, newPod("p", withUID("old"), tolerates("a:60")))
	c.node(10, "n1", "a@10")
	c.leavesAt("old", 70)
	c.pod(50, newPod("p", withUID("new"), bound(50), tolerates("a:60")))
	c.leavesAt("new", 110)
	c.leavesAt("old", 70) // until we are told that it is gone
	c.ForgetPod(at(50), "old")
	_, known := c.Decision("old")
	require.False(t, known)
	require.Equal(t, 1, c.Waiting())
	task := c.startOne(110, "p")
	require.Equal(t, types.UID("new"), task.Pod.UID)
}

func TestE4RecreatedPodThatNeedNotLeave(t *testing.T) {
	c := running(t, newPod("p", withUID("old"), tolerates("a:60")))
	c.node(10, "n1", "a@10")
	c.ForgetPod(at(10), "old")
	c.pod(50, newPod("p", withUID("new"), bound(50), tolerates("a")))
	c.idle(1e6)
}

// The action on the old pod is under way when the new one comes.
func TestE4RecreatedPodWhileTheActionIsInFlight(t *testing.T) {
	for _, outcome := range outcomes {
		c := runningWith(t, twoSeconds, newPod("p", withUID("old")))
		c.node(10, "n1", "a@10")
		old := c.start(10, "p")[0]
		c.ForgetPod(at(10), "old")
		require.Zero(t, c.Waiting())
		c.pod(11, newPod("p", withUID("new"), bound(11), tolerates("a:60")))
		c.finish(12, old, outcome)
		c.leavesAt("new", 71)
		require.Equal(t, 1, c.Waiting())
		task := c.startOne(71, "p")
		require.Equal(t, types.UID("new"), task.Pod.UID)
		require.Zero(t, task.Attempts)
	}
}

// A pod that is forgotten and seen again, as it was, is seen for the first
// time. Never are there two actions on it at a time.
func TestE4PodSeenAgainWhileTheActionIsInFlight(t *testing.T) {
	for _, outcome := range outcomes {
		c := runningWith(t, twoSeconds, newPod("p"))
		c.node(10, "n1", "a@10")
		old := c.start(10, "p")[0]
		c.ForgetPod(at(10), "p")
		c.pod(11, newPod("p"))
		c.start(12)
		c.finish(13, old, outcome)
		task := c.start(13, "p")[0]
		c.finish(14, old, eviction.OutcomeEvicted) // late, once more
		c.start(1000)
		c.finish(1000, task, eviction.OutcomeEvicted)
		c.idle(2000)
	}
}

// It was forgotten and is back during its action, on its way out: it is not
// evicted, whatever the result of the action.
func TestE4PodSeenAgainTerminatingDuringItsAction(t *testing.T) {
	for _, outcome := range outcomes {
		c := runningWith(t, twoSeconds, newPod("p"))
		c.node(10, "n1", "a@10")
		task := c.start(10, "p")[0]
		c.ForgetPod(at(10), "p")
		c.pod(11, newPod("p", terminating))
		c.stays("p", eviction.ReasonGone)
		require.True(t, task.Canceled())
		c.finish(12, task, outcome)
		c.stays("p", eviction.ReasonGone)
		c.idle(1e6)
	}
}

// What was on its way out before it was forgotten says nothing of what is seen
// after that.
func TestE4PodThatWasTerminatingIsSeenAgain(t *testing.T) {
	for _, outcome := range outcomes {
		c := runningWith(t, twoSeconds, newPod("p"))
		c.node(10, "n1", "a@10")
		task := c.start(10, "p")[0]
		c.pod(10, newPod("p", terminating))
		c.ForgetPod(at(10), "p")
		c.pod(11, newPod("p"))
		c.leavesAt("p", 10)
		c.finish(12, task, outcome)
		c.start(12, "p")
	}
}

// E6: a pod that is seen terminating during its action stays so, whatever its
// node does then.
func TestE6PodThatTerminatesDuringItsActionStaysCanceled(t *testing.T) {
	for _, outcome := range outcomes {
		c := runningWith(t, twoSeconds, newPod("p"))
		c.node(10, "n1", "a@10")
		task := c.start(10, "p")[0]
		c.pod(11, newPod("p", terminating))
		require.True(t, task.Canceled())
		c.node(12, "n1", "c@12")
		c.node(13, "n1")
		require.True(t, task.Canceled())
		c.stays("p", eviction.ReasonGone)
		c.finish(14, task, outcome)
		c.stays("p", eviction.ReasonGone)
		c.idle(1e6)
	}
}

func TestE4PodForgottenDuringItsActionStaysForgotten(t *testing.T) {
	for _, outcome := range outcomes {
		c := runningWith(t, twoSeconds, newPod("p"))
		c.node(10, "n1", "a@10")
		task := c.start(10, "p")[0]
		c.ForgetPod(at(10), "p")
		c.finish(11, task, outcome)
		c.idle(1e6)
		_, pods := c.Len()
		require.Zero(t, pods)
	}
}

// demand.md, same-name races (#125332, #107543): a worker of upstream that ends
// removes the entry of a newer timer. Here a result that comes late, or twice,
// can not touch what was started since.
func TestE4LateFinishChangesNothing(t *testing.T) {
	for _, outcome := range outcomes {
		c := runningWith(t, twoSeconds, newPod("p", marked))
		c.node(10, "n1", "a@10")
		first := c.start(10, "p")[0]
		c.finish(10, first, eviction.OutcomeFailed)
		c.finish(11, first, outcome)
		second := c.startOne(12, "p")
		require.Equal(t, 1, second.Attempts)
		require.True(t, second.HasDisruptionTarget)

		c.finish(12, first, outcome)
		c.start(100) // the second is still in flight
		require.Equal(t, 1, c.Waiting())
		c.finish(100, second, eviction.OutcomeFailed)
		third := c.startOne(102, "p")
		require.Equal(t, 2, third.Attempts)
		require.True(t, third.HasDisruptionTarget)
		c.finish(102, third, eviction.OutcomeEvicted)
		c.finish(103, second, outcome)
		c.start(103)
		require.Zero(t, c.Waiting())
	}
}

func TestE4FinishOfNoWorkChangesNothing(t *testing.T) {
	c := running(t, newPod("p"))
	c.node(10, "n1", "a@10")
	for _, outcome := range outcomes {
		c.finish(11, eviction.Task{}, outcome)
		c.finish(11, eviction.Task{Pod: eviction.Key{Namespace: "ns", Name: "p", UID: "p"}, Node: "n1"},
			outcome)
	}
	c.start(11, "p")
}

func TestE4NeverTwoActionsOnOnePod(t *testing.T) {
	c := running(t, newPod("p"))
	c.node(10, "n1", "a@10")
	task := c.start(10, "p")[0]
	c.node(11, "n1", "a@10", "b@11")
	c.pod(12, newPod("p", tolerates("b")))
	c.node(13, "n1")
	c.node(14, "n1", "c@14")
	c.start(1000)
	c.finish(1000, task, eviction.OutcomeEvicted)
	c.idle(1e6)
}

// What is evicted is not evicted again, whatever its node does, until it is
// gone.
func TestE4EvictedOnceOnly(t *testing.T) {
	for _, outcome := range []eviction.Outcome{eviction.OutcomeEvicted, eviction.OutcomeGone} {
		c := running(t, newPod("p"))
		c.node(10, "n1", "a@10")
		c.Finish(at(11), c.start(10, "p")[0], eviction.Result{Outcome: outcome})
		c.stays("p", eviction.ReasonGone)
		c.pod(12, newPod("p")) // the cache does not know yet
		c.pod(12, newPod("p", marked))
		c.node(13, "n1")
		c.node(14, "n1", "b@14")
		c.start(11 + eviction.Config{}.Backoff.Longest().Seconds() - 1)
		c.ForgetPod(at(14), "p")
		_, pods := c.Len()
		require.Zero(t, pods)
	}
}

func TestE4SameNameInTwoNamespaces(t *testing.T) {
	other := newPod("p", withUID("other"), tolerates("a:60"))
	other.Namespace = "other"
	c := running(t, newPod("p", tolerates("a:30")), other)
	c.node(10, "n1", "a@10")
	require.Equal(t, "ns", c.startOne(40, "p").Pod.Namespace)
	require.Equal(t, "other", c.startOne(70, "p").Pod.Namespace)
}

// It cannot happen to a real pod, and must not bring our books into disorder.
func TestPodThatChangesItsNodeIsSeenForTheFirstTime(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")), newPod("q"))
	c.node(10, "n1", "a@10")
	c.node(10, "n2", "a@10")
	c.pod(50, newPod("p", on("n2"), bound(50), tolerates("a:60")))
	c.leavesAt("p", 110)
	c.start(50, "q")
	c.ForgetPod(at(50), "p")
	c.ForgetPod(at(50), "q")
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
	c.MarkSynced()
	require.Equal(t, "4 nodes, 8 pods, 4 pending", c.String())
	inFlight := c.start(6, "p2", "q2")
	c.ForgetNode(at(7), "np")
	require.Equal(t, "4 nodes, 8 pods, 3 pending", c.String()) // p2 is in flight
	for _, name := range []string{"s", "p", "r", "q"} {
		c.ForgetPod(at(7), types.UID(name))
		c.ForgetPod(at(7), types.UID(name+"2"))
	}
	require.Equal(t, "1 nodes, 0 pods, 0 pending", c.String())
	c.ForgetNode(at(8), "nq")
	require.Equal(t, "0 nodes, 0 pods, 0 pending", c.String())
	for _, task := range inFlight {
		c.finish(9, task, eviction.OutcomeFailed)
	}
	require.Equal(t, "0 nodes, 0 pods, 0 pending", c.String())
	_, ok := c.Next(at(1e6))
	require.False(t, ok)
}

// Work that was handed out is data: what is observed later does not change it.
func TestWorkDoesNotChangeWhileItIsInFlight(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10, "n1", "a@10", "NR@10")
	task := c.start(10, "p")[0]
	before := task.Reevaluate(newPod("p", tolerates("a:60")), newNode("n1", "a@10", "NR@10"), at(20))
	c.node(11, "n1", "UN@11", "a@11", "b")
	c.pod(12, newPod("p", tolerates("NR", "a")))
	c.hold(13, "all", true)
	c.ForgetNode(at(14), "n1")
	require.Equal(t, "NR", short(task.Decision.Taint.Key))
	after := task.Reevaluate(newPod("p", tolerates("a:60")), newNode("n1", "a@10", "NR@10"), at(20))
	require.Equal(t, before, after)
	require.Equal(t, 10*time.Second, after.Due.Sub(at(0)))
}

func short(key string) string {
	if key == notReady {
		return "NR"
	}
	return key
}
