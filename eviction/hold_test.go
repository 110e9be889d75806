package eviction_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
)

// C7: an operator's stop holds every eviction at once and loses none. What was
// due meanwhile leaves afterwards in the order of the deadlines, and as fast as
// the budgets allow.
func TestC7HaltHoldsAllEvictionsAndLosesNone(t *testing.T) {
	tracker, err := eviction.NewTracker(eviction.Config{
		Budgets: []eviction.Budget{{Name: "overall", Limit: 1}},
	}, at(0))
	require.NoError(t, err)
	tracker.ObserveNode(at(10), newNode("n1", "NR@10"))
	for pod, tolerated := range map[string]string{"first": "NR:60", "second": "NR:70",
		"third": "NR:80"} {
		tracker.ObservePod(at(10), newPod(pod, on("n1"), tolerates(tolerated)))
	}
	tracker.MarkSynced()
	underWay, ok := tracker.Start(at(71))
	require.True(t, ok)

	tracker.Halt(at(72))
	require.True(t, underWay.Canceled(), "the action under way stops")
	tracker.Finish(at(73), underWay, eviction.Result{Outcome: eviction.OutcomeNotDue})
	_, ok = tracker.Start(at(1000))
	require.False(t, ok)
	_, ok = tracker.Next(at(1000))
	require.False(t, ok, "only Resume makes a difference")
	overdue, _ := tracker.Overdue(at(1000))
	require.Equal(t, 3, overdue)

	tracker.Resume(at(1001))
	for i, pod := range []string{"first", "second", "third"} {
		now := at(1001 + float64(i))
		task, ok := tracker.Start(now)
		require.True(t, ok, pod)
		require.Equal(t, pod, task.Pod.Name)
		require.False(t, task.Canceled())
		_, ok = tracker.Start(now)
		require.False(t, ok, "one a second")
	}
}

// C7: what an eviction has written that became moot is taken back while all
// evictions are held.
func TestC7HaltLetsConditionsBeCleared(t *testing.T) {
	tracker, err := eviction.NewTracker(eviction.Config{}, at(0))
	require.NoError(t, err)
	tracker.ObserveNode(at(10), newNode("n1"))
	tracker.ObservePod(at(10), newPod("p", on("n1"), marked))
	tracker.MarkSynced()
	tracker.Halt(at(11))
	task, ok := tracker.Start(at(12))
	require.True(t, ok)
	require.True(t, task.ClearCondition)
	tracker.Halt(at(13))
	require.False(t, task.Canceled())
}

// crowdedNodes is a tracker with so many pods on each of the nodes, which are
// not ready. The pods of a node tolerate that for 60 seconds more than those of
// the node before it.
func crowdedNodes(t *testing.T, nodes, pods int) *eviction.Tracker {
	t.Helper()
	tracker, err := eviction.NewTracker(eviction.Config{}, at(0))
	require.NoError(t, err)
	for n := range nodes {
		name := fmt.Sprint("node-", n)
		tracker.ObserveNode(at(10), newNode(name, "NR@10"))
		for p := range pods {
			pod := newPod(fmt.Sprintf("%d-%d", n, p), on(name), tolerates(fmt.Sprintf("NR:%d", 60*(n+1))))
			tracker.ObservePod(at(10), pod)
		}
	}
	tracker.MarkSynced()
	return tracker
}

// C3: no turn of a suspension, or of its end, visits more records than a slice
// has, however many pods there are.
func TestC3SuspensionGoesInSlices(t *testing.T) {
	const nodes, pods = 40, 200
	tracker := crowdedNodes(t, nodes, pods)
	tracker.Visited()
	for _, suspended := range []func(*corev1.Taint) bool{taints.OwnsNoExecute, nil} {
		tracker.SuspendTaints(at(20), suspended)
		require.LessOrEqual(t, tracker.Visited(), 1, "at once")
		all, turns := 0, 0
		for ; tracker.Reevaluating(); turns++ {
			next, ok := tracker.Next(at(20))
			require.True(t, ok)
			require.Equal(t, at(20), next, "there is work")
			_, ok = tracker.Start(at(20))
			require.False(t, ok)
			visited := tracker.Visited()
			require.LessOrEqual(t, visited, 1000)
			all += visited
		}
		require.Equal(t, nodes+nodes*pods, all, "each record once")
		require.Equal(t, 9, turns)
		want := nodes * pods
		if suspended != nil {
			want = 0
		}
		require.Equal(t, want, tracker.Waiting())
	}
}

// C3, E6: actions under way learn at once that their tasks are moot, and
// nothing else is visited.
func TestC3SuspensionReachesWhatIsUnderWayAtOnce(t *testing.T) {
	tracker := crowdedNodes(t, 3, 10)
	var tasks []eviction.Task
	for range 5 {
		task, ok := tracker.Start(at(71))
		require.True(t, ok)
		tasks = append(tasks, task)
	}
	tracker.Visited()
	tracker.SuspendTaints(at(72), taints.OwnsNoExecute)
	require.Equal(t, len(tasks), tracker.Visited())
	for _, task := range tasks {
		require.True(t, task.Canceled())
	}
	tracker.SuspendTaints(at(72), nil)
	for _, task := range tasks {
		require.False(t, task.Canceled())
	}
}

// C3: what is suspended holds before the slices do: for Start and for queries.
func TestC3SuspensionHoldsBeforeItsSlices(t *testing.T) {
	for name, slice := range map[string]int{"a slice for all": 1000, "slices of one": 1} {
		t.Run(name, func(t *testing.T) {
			tracker := crowdedNodes(t, 3, 10)
			tracker.SetSlice(slice)
			tracker.SuspendTaints(at(20), taints.OwnsNoExecute)
			for id := range podsOf(3, 10) {
				decision, known := tracker.Decision(id)
				require.True(t, known)
				require.Equal(t, eviction.Decision{Reason: eviction.ReasonNoTaints}, decision)
			}
			for now := at(1000); ; {
				_, ok := tracker.Start(now)
				require.False(t, ok, "all is suspended")
				if !tracker.Reevaluating() {
					break
				}
			}
			require.Zero(t, tracker.Waiting())
		})
	}
}

// C3: pods that became due while their taints were suspended are not lost. They
// leave in the order of their deadlines, although they are decided in slices.
func TestC3EndOfASuspensionLosesNothingAndKeepsTheOrder(t *testing.T) {
	const nodes, pods = 7, 30
	tracker := crowdedNodes(t, nodes, pods)
	tracker.SetSlice(10)
	tracker.SuspendTaints(at(20), taints.OwnsNoExecute)
	for tracker.Reevaluate(at(20)) {
		continue
	}
	now := at(10_000)
	tracker.SuspendTaints(now, nil)
	left, turns := map[types.UID]bool{}, 0
	var last time.Time
	for len(left) < nodes*pods {
		task, ok := tracker.Start(now)
		if !ok {
			turns++
			require.Empty(t, left, "nothing is handed out before all are decided")
			require.True(t, tracker.Reevaluating(), "it is handed out, or there is a slice")
			continue
		}
		require.False(t, left[task.Pod.UID])
		left[task.Pod.UID] = true
		require.False(t, task.Decision.Due.Before(last), "in the order of their deadlines")
		last = task.Decision.Due
	}
	require.GreaterOrEqual(t, turns, nodes*pods/10)
}

// C3: nodes and pods come, change and go between the slices, and no pod is left
// as it was before.
func TestC3ChangesBetweenSlicesLeaveNothingOut(t *testing.T) {
	const nodes, pods = 9, 8
	for first := range nodes {
		tracker := crowdedNodes(t, nodes, pods)
		tracker.SetSlice(7)
		tracker.SuspendTaints(at(20), taints.OwnsNoExecute)
		gone := 0
		for step := 0; tracker.Reevaluate(at(20)); step++ {
			n := (first + step) % nodes
			id := types.UID(fmt.Sprintf("%d-%d", n, step%pods))
			if _, known := tracker.Decision(id); known {
				tracker.ForgetPod(at(20), id)
				gone++
			}
			if n == first { // all of it
				for p := range pods {
					tracker.ForgetPod(at(20), types.UID(fmt.Sprintf("%d-%d", n, p)))
				}
				tracker.ForgetNode(at(20), fmt.Sprint("node-", n))
			}
			tracker.ObservePod(at(20), newPod(fmt.Sprint("new-", step), on(fmt.Sprint("node-", n)),
				tolerates("NR:60")))
		}
		require.Positive(t, gone)
		require.Zero(t, tracker.Waiting(), "a pod is as it was before the suspension")
	}
}

// C3: a second suspension in the midst of the slices of the first.
func TestC3SuspensionsFollowEachOther(t *testing.T) {
	tracker := crowdedNodes(t, 5, 20)
	tracker.SetSlice(30)
	for range 3 {
		tracker.SuspendTaints(at(20), taints.OwnsNoExecute)
		tracker.Reevaluate(at(20))
		tracker.SuspendTaints(at(20), nil)
		tracker.Reevaluate(at(20))
	}
	for tracker.Reevaluate(at(20)) {
		continue
	}
	require.Equal(t, 100, tracker.Waiting())
	next, ok := tracker.Next(at(20))
	require.True(t, ok)
	require.Equal(t, at(70), next)
}

func TestE3HeldTaintsDoNotAct(t *testing.T) {
	pods := []*corev1.Pod{
		newPod("both", tolerates("NR:60", "a:90")),
		newPod("ours", tolerates("NR:60", "a")),
		newPod("theirs", tolerates("a:40", "NR")),
		newPod("elsewhere", on("n2"), tolerates("UN:60")),
	}
	c := running(t, pods...)
	c.node(10, "n1", "NR@10", "a@10")
	c.node(10, "n2", "UN@10")
	c.SuspendTaints(at(20), taints.OwnsNoExecute)
	c.leavesAt("both", 100)
	c.stays("ours", eviction.ReasonTolerated)
	c.leavesAt("theirs", 50)
	c.stays("elsewhere", eviction.ReasonNoTaints)

	c.startOne(50, "theirs") // an administrator's taint acts all the same
	c.startOne(100, "both")
	c.idleBut(1000, 2)

	c.pod(1001, newPod("new", tolerates("NR:5", "a"),
		bound(1001))) // nor on what comes while they are held
	c.node(1002, "n2", "UN@10", "b@1002")
	c.start(1002, "elsewhere")
	c.idleBut(2000, 3)

	c.SuspendTaints(at(2000), nil)
	c.leavesAt("ours", 70)
	c.start(2000, "ours", "new")
}

// What is suspended on one node acts on the others, and keeps its deadline.
func TestE3HeldTaintsOfANodeDoNotAct(t *testing.T) {
	c := running(t, newPod("p", tolerates("NR:60", "a:90")), newPod("q", tolerates("NR:60", "a")),
		newPod("elsewhere", on("n2"), tolerates("NR:60")))
	c.node(10, "n1", "NR@10", "a@10")
	c.node(10, "n2", "NR@10")
	c.SuspendTaintsOn(at(20), "n1", taints.OwnsNoExecute)
	c.SuspendTaintsOn(at(20), "unknown", taints.OwnsNoExecute)
	c.leavesAt("p", 100)
	c.stays("q", eviction.ReasonTolerated)
	c.startOne(70, "elsewhere")

	c.SuspendTaints(at(80), func(taint *corev1.Taint) bool { return taint.Key == "a" })
	c.stays("p", eviction.ReasonNoTaints)
	c.SuspendTaintsOn(at(81), "n1", nil)
	c.leavesAt("q", 70) // not later than without the hold
	c.start(81, "p", "q")
}

// Another node of that name has nothing suspended.
func TestE3HeldTaintsOfADeletedNodeAreForgotten(t *testing.T) {
	c := running(t, newPod("p", tolerates("NR:60")))
	c.node(10, "n1", "NR@10")
	c.SuspendTaintsOn(at(20), "n1", taints.OwnsNoExecute)
	c.ForgetNode(at(30), "n1")
	c.node(40, "n1", "NR@40")
	c.leavesAt("p", 100)
}

// An action that is under way when its taint is suspended learns that.
func TestE3HoldOfANodeCancelsWhatIsUnderWay(t *testing.T) {
	c := running(t, newPod("p", tolerates("NR:60")))
	c.node(10, "n1", "NR@10")
	task := c.startOne(70, "p")
	require.False(t, task.Canceled())
	c.SuspendTaintsOn(at(72), "n1", taints.OwnsNoExecute)
	require.True(t, task.Canceled())
}

func TestE3SuspendedTaintsThatGoBeforeTheEndEvictNoPod(t *testing.T) {
	c := running(t, newPod("p", tolerates("NR:60")))
	c.node(10, "n1", "NR@10")
	c.SuspendTaints(at(50), taints.OwnsNoExecute)
	c.start(100)
	c.node(100, "n1")
	c.SuspendTaints(at(100), nil)
	c.idle(1e6)
}

func TestE3HoldOfAnotherKindReplacesTheFirst(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60", "b:70")))
	key := func(key string) func(*corev1.Taint) bool {
		return func(taint *corev1.Taint) bool { return taint.Key == key }
	}
	c.node(10, "n1", "a@10", "b@10")
	c.SuspendTaints(at(20), key("a"))
	c.leavesAt("p", 80)
	c.SuspendTaints(at(30), key("b"))
	c.leavesAt("p", 70)
	c.SuspendTaints(at(30), func(*corev1.Taint) bool { return true })
	c.stays("p", eviction.ReasonNoTaints)
}

// What is released together leaves in one order, not in that of a map.
func TestE3ReleaseIsInOrder(t *testing.T) {
	for range 20 {
		c := running(t)
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		for _, name := range slices.Backward(names) {
			c.node(1, "node-"+name, "NR@1")
			c.pod(1, newPod(name, on("node-"+name), tolerates("NR:60")))
		}
		c.SuspendTaints(at(10), taints.OwnsNoExecute)
		c.SuspendTaints(at(100), nil)
		c.start(100, names...)
	}
}
