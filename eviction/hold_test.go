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
)

// C7: an operator's stop holds every eviction at once and loses none. What was
// due meanwhile leaves afterwards in the order of the deadlines, and as fast as
// the budgets allow.
func TestC7HoldOfAllHoldsAllEvictionsAndLosesNone(t *testing.T) {
	c := runningWith(t, budgets(overall(1, 1)), newPod("first", tolerates("NR:60")),
		newPod("second", tolerates("NR:70")), newPod("third", tolerates("NR:80")))
	c.node(10, "n1", "NR@10")
	underWay := c.start(71, "first")[0]

	c.hold(72, "all", true)
	c.hold(72, "all", true)
	require.True(t, c.Held("all", ""))
	require.True(t, c.Held("all", "n1"))
	require.True(t, underWay.Canceled(), "the action under way stops")
	c.finish(73, underWay, eviction.OutcomeNotDue)
	c.start(1000)
	_, ok := c.Next(at(1000))
	require.False(t, ok, "only the end of the hold makes a difference")
	require.Equal(t, 3, c.Waiting())
	since, _ := c.Overdue(at(1000))
	require.Equal(t, at(70), since)

	c.hold(1001, "all", false)
	require.False(t, c.Held("all", ""))
	for i, pod := range []string{"first", "second", "third"} {
		require.False(t, c.start(1001+float64(i), pod)[0].Canceled(), "one a second")
	}
}

// crowdedNodes is a tracker with so many pods on each of the nodes, which are
// not ready. The pods of a node tolerate that for 60 seconds more than those of
// the node before it.
func crowdedNodes(t *testing.T, nodes, pods int) *eviction.Tracker {
	t.Helper()
	tracker, err := eviction.NewTracker(eviction.Config{Holds: someHolds}, at(0))
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

// E14, C3: what is due and held is put aside once, and taken back once, a
// thousand in a turn.
func TestE14PodsAreParkedOnceAThousandATurn(t *testing.T) {
	const nodes, pods = 40, 100
	tracker := crowdedNodes(t, nodes, pods)
	tracker.SetHold(at(20), "ours", "", true)
	now := at(10_000)
	for parked := 1000; parked <= nodes*pods; parked += 1000 {
		next, ok := tracker.Next(now)
		require.True(t, ok)
		require.False(t, next.After(now))
		_, ok = tracker.Start(now)
		require.False(t, ok)
		require.Equal(t, parked, tracker.Parked())
	}
	_, ok := tracker.Next(now)
	require.False(t, ok, "nothing is to be done while they are held")

	tracker.SetHold(now, "ours", "", false)
	require.Equal(t, nodes*pods, tracker.Reopening(), "at once")
	for left := nodes*pods - 1000; left > 0; left -= 1000 {
		tracker.Start(now)
		require.Equal(t, left, tracker.Reopening())
	}
	require.Equal(t, nodes*pods, tracker.Waiting())
}

// E14: pods that became due while their taints were held are not lost. They
// leave in the order of their deadlines, although they are taken back in parts.
func TestE14EndOfAHoldLosesNothingAndKeepsTheOrder(t *testing.T) {
	const nodes, pods = 7, 30
	for _, most := range []int{2, 10, 1000} {
		tracker := crowdedNodes(t, nodes, pods)
		tracker.SetHold(at(20), "ours", "", true)
		now := at(10_000)
		for range nodes * pods {
			_, ok := tracker.Start(now)
			require.False(t, ok)
		}
		tracker.SetMost(most)
		tracker.SetHold(now, "ours", "", false)
		left := map[types.UID]bool{}
		var last time.Time
		for starts := 0; len(left) < nodes*pods; starts++ {
			require.Less(t, starts, 2*nodes*pods)
			task, ok := tracker.Start(now)
			if !ok {
				continue
			}
			require.False(t, left[task.Pod.UID])
			left[task.Pod.UID] = true
			require.False(t, task.Decision.Due.Before(last), "in the order of their deadlines")
			last = task.Decision.Due
		}
	}
}

// E14: holds begin and end while the pods of a former one are still taken back.
func TestE14HoldsFollowEachOther(t *testing.T) {
	tracker := crowdedNodes(t, 5, 20)
	tracker.SetMost(30)
	now := at(10_000)
	for _, hold := range []string{"ours", "all", "ours", "all", "ours"} {
		tracker.SetHold(now, hold, "", true)
		tracker.Start(now)
		tracker.SetHold(now, hold, "", false)
		tracker.SetHold(now, hold, "", true)
		tracker.Start(now)
		require.False(t, tracker.Held("unknown", ""))
	}
	for range 100 {
		_, ok := tracker.Start(now)
		require.False(t, ok)
	}
	require.Equal(t, 100, tracker.Parked())
	tracker.SetHold(now, "ours", "", false)
	for range 100 {
		_, ok := tracker.Start(now)
		require.False(t, ok, "all is held")
	}
	tracker.SetHold(now, "all", "", false)
	started := 0
	for range 200 {
		if _, ok := tracker.Start(now); ok {
			started++
		}
	}
	require.Equal(t, 100, started)
}

// E6: actions under way learn at once that their tasks are moot.
func TestE6HoldReachesWhatIsUnderWayAtOnce(t *testing.T) {
	tracker := crowdedNodes(t, 3, 10)
	var tasks []eviction.Task
	for range 5 {
		task, ok := tracker.Start(at(71))
		require.True(t, ok)
		tasks = append(tasks, task)
	}
	tracker.SetHold(at(72), "ours", "", true)
	for _, task := range tasks {
		require.True(t, task.Canceled())
	}
	tracker.SetHold(at(72), "ours", "", false)
	for _, task := range tasks {
		require.False(t, task.Canceled())
	}
}

// E14: an action asks before each call, also before the first. The hold may have
// come while the task waited for a worker.
func TestE14HoldBeforeTheFirstCallMakesNone(t *testing.T) {
	for _, options := range []sceneOptions{{}, {evict: true}, {confirm: true}, {pod: newPod("p", marked)}} {
		play(t, options, func(s *scene) {
			s.tracker.SetHold(time.Now(), "a", "", true)
			require.Equal(s, eviction.OutcomeNotDue, s.act(s.Context(), s.work).Outcome)
			require.Empty(s, s.verbs())
		})
	}
}

// E14: an administrator's taint acts while ours are held.
func TestE14HeldTaintsDoNotAct(t *testing.T) {
	pods := []*corev1.Pod{
		newPod("both", tolerates("NR:60", "a:90")),
		newPod("ours", tolerates("NR:60", "a")),
		newPod("theirs", tolerates("a:40", "NR")),
		newPod("elsewhere", on("n2"), tolerates("UN:60")),
	}
	c := running(t, pods...)
	c.node(10, "n1", "NR@10", "a@10")
	c.node(10, "n2", "UN@10")
	c.hold(20, "ours", true)
	c.leavesAt("both", 70) // it is said when they would have to leave
	c.leavesAt("ours", 70)

	c.startOne(50, "theirs") // an administrator's taint acts all the same
	c.start(70)
	c.startOne(100, "both")
	require.Equal(t, "a", c.work("both").Decision.Taint.Key)
	c.start(1000)

	c.pod(1001, newPod("new", tolerates("NR:5", "a"), bound(1001))) // nor on what comes
	c.node(1002, "n2", "UN@10", "b@1002")
	c.start(1002, "elsewhere")
	c.start(2000)
	_, ok := c.Next(at(2000))
	require.False(t, ok)

	c.hold(2000, "ours", false)
	c.start(2000, "ours", "new")
}

// What is held on one node acts on the others, and keeps its deadline.
func TestE14HeldTaintsOfANodeDoNotAct(t *testing.T) {
	c := running(t, newPod("p", tolerates("NR:60", "a:90")), newPod("q", tolerates("NR:60", "a")),
		newPod("elsewhere", on("n2"), tolerates("NR:60")))
	c.node(10, "n1", "NR@10", "a@10")
	c.node(10, "n2", "NR@10")
	c.holdOn(20, "ours", "n1", true)
	c.holdOn(20, "ours", "unknown", true)
	require.True(t, c.Held("ours", "n1"))
	require.False(t, c.Held("ours", "n2"))
	require.False(t, c.Held("ours", "unknown"))
	c.start(70, "elsewhere")

	c.hold(80, "a", true)
	c.start(200)
	c.holdOn(201, "ours", "n1", false)
	c.start(201, "p", "q") // not later than without the hold
}

// A node that is back at 299 s of a toleration of 300 s keeps its pods, however
// long its taint takes to be removed.
func TestE14NodeThatIsBackInTimeKeepsItsPods(t *testing.T) {
	c := running(t, newPod("p", tolerates("UN:300")))
	c.node(10, "n1", "UN@10")
	c.holdOn(309, "ours", "n1", true)
	c.start(310)
	c.start(330)
	c.node(331, "n1")
	c.holdOn(331, "ours", "n1", false)
	c.idle(1e6)
}

// Another node of that name has nothing held.
func TestE14HoldEndsWithItsNode(t *testing.T) {
	c := running(t, newPod("p", tolerates("NR:60")))
	c.node(10, "n1", "NR@10")
	c.holdOn(20, "ours", "n1", true)
	c.start(75)
	c.ForgetNode(at(80), "n1")
	c.node(90, "n1", "NR@90")
	require.False(t, c.Held("ours", "n1"))
	c.startOne(150, "p")
}

// An action that is under way when its taint is held learns that.
func TestE6HoldOfANodeCancelsWhatIsUnderWay(t *testing.T) {
	c := running(t, newPod("p", tolerates("NR:60")))
	c.node(10, "n1", "NR@10")
	task := c.startOne(70, "p")
	require.False(t, task.Canceled())
	c.holdOn(72, "ours", "n1", true)
	require.True(t, task.Canceled())
}

func TestE14HeldTaintsThatGoBeforeTheEndEvictNoPod(t *testing.T) {
	c := running(t, newPod("p", tolerates("NR:60")))
	c.node(10, "n1", "NR@10")
	c.hold(50, "ours", true)
	c.start(100)
	c.node(100, "n1")
	c.hold(100, "ours", false)
	c.idle(1e6)
}

// What two holds hold waits for both, and each holds what it names.
func TestE14HoldsAreIndependent(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60", "NR:70")))
	c.node(10, "n1", "a@10", "NR@10")
	c.hold(20, "a", true)
	c.hold(20, "ours", true)
	c.start(100)
	c.hold(100, "a", false)
	c.hold(100, "a", true)
	c.start(100)
	c.hold(100, "ours", false)
	require.Equal(t, corev1.TaintNodeNotReady, c.start(100, "p")[0].Decision.Taint.Key)
}

// What is released together leaves in one order, not in that of a map.
func TestE14ReleaseIsInOrder(t *testing.T) {
	for range 20 {
		c := running(t)
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		for _, name := range slices.Backward(names) {
			c.node(1, "node-"+name, "NR@1")
		}
		for _, name := range names {
			c.pod(1, newPod(name, on("node-"+name), tolerates("NR:60")))
		}
		c.hold(10, "ours", true)
		c.start(90)
		c.hold(100, "ours", false)
		c.start(100, names...)
	}
}

// A dry run reports a pod once, whatever is held and released.
func TestE14DryRunReportsOnceBesideAHold(t *testing.T) {
	c := running(t, newPod("p", tolerates("NR:5", "a:10")))
	c.hold(0, "ours", true)
	c.node(10, "n1", "NR@10", "a@10")
	c.finish(20, c.start(20, "p")[0], eviction.OutcomeDryRun)
	c.pod(21, newPod("p", tolerates("NR:5", "a:10")))
	c.hold(22, "all", true)
	c.pod(23, newPod("p", tolerates("NR:5", "a:10")))
	c.hold(24, "all", false)
	c.hold(24, "ours", false)
	c.idle(1e6)
}

func TestE14HoldsAreChecked(t *testing.T) {
	many := make([]eviction.Hold, 33)
	for i := range many {
		many[i].Name = fmt.Sprint(i)
	}
	for want, holds := range map[string][]eviction.Hold{
		"the Name of a hold is empty, want a name":      {{}},
		`two holds have the name "x", want one of each`: {{Name: "x"}, {Name: "x"}},
		"there are 33 holds, want at most 32":           many,
	} {
		_, err := eviction.NewTracker(eviction.Config{Holds: holds}, at(0))
		require.ErrorIs(t, err, eviction.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
	}
	c := running(t)
	require.False(t, c.SetHold(at(1), "unknown", "", true))
	require.False(t, c.SetHold(at(1), "", "", true))
}
