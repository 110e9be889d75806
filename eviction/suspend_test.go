package eviction_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
)

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
			tracker.ObservePod(at(20), newPod(fmt.Sprint("new-", step), on(fmt.Sprint("node-", n)), tolerates("NR:60")))
		}
		require.Positive(t, gone)
		require.Zero(t, tracker.Waiting(), "a pod is as it was before the suspension")
	}
}

// podsOf are the IDs of the pods of crowdedNodes.
func podsOf(nodes, pods int) map[types.UID]bool {
	all := map[types.UID]bool{}
	for n := range nodes {
		for p := range pods {
			all[types.UID(fmt.Sprintf("%d-%d", n, p))] = true
		}
	}
	return all
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
	require.Equal(t, at(71), next)
}

// C3: metrics read running counts, and the pages walk in parts, whatever
// happens in between.
func TestC3MetricsVisitNothing(t *testing.T) {
	tracker := crowdedNodes(t, 10, 100)
	tracker.Visited()
	pods, since := tracker.Overdue(at(300))
	require.Equal(t, 400, pods)
	require.Equal(t, at(71), since)
	require.Equal(t, 1000, tracker.Waiting())
	require.Zero(t, tracker.Acting())
	require.Zero(t, tracker.Delayed(at(300), "overall"))
	require.Zero(t, tracker.Visited())
}

func TestC3PendingIsWalkedInParts(t *testing.T) {
	const nodes, pods, part = 12, 25, 40
	tracker := crowdedNodes(t, nodes, pods)
	tracker.ObserveNode(at(10), newNode("node-3")) // none of it waits
	listed, parts := map[types.UID]int{}, 0
	tracker.Visited()
	for c := new(eviction.Cursor); !c.Ended(); parts++ {
		for p := range tracker.PendingFrom(c, part) {
			listed[p.Pod.UID]++
			decision, _ := tracker.Decision(p.Pod.UID)
			require.Equal(t, decision, p.Decision)
		}
		require.LessOrEqual(t, tracker.Visited(), part)
	}
	require.Len(t, listed, (nodes-1)*pods)
	for id, times := range listed {
		require.Equal(t, 1, times, id)
	}
	require.Equal(t, (nodes+(nodes-1)*pods+part-1)/part, parts)

	stopped := new(eviction.Cursor)
	for range tracker.PendingFrom(stopped, 1e9) {
		break
	}
	rest := 0
	for range tracker.PendingFrom(stopped, 1e9) {
		rest++
	}
	require.True(t, stopped.Ended())
	require.Equal(t, (nodes-1)*pods-1, rest, "it goes on after a break")

	empty, err := eviction.NewTracker(eviction.Config{}, at(0))
	require.NoError(t, err)
	none := new(eviction.Cursor)
	for range empty.PendingFrom(none, 0) {
		require.Fail(t, "there is none")
	}
	require.True(t, none.Ended())
}

// C3: whatever comes and goes between two parts, no pod that waits all the time
// is left out.
func TestC3PendingLeavesNothingOut(t *testing.T) {
	const nodes, pods = 9, 8
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 9))
		tracker := crowdedNodes(t, nodes, pods)
		stay := podsOf(nodes, pods)
		listed := map[types.UID]bool{}
		for c := new(eviction.Cursor); !c.Ended(); {
			for p := range tracker.PendingFrom(c, 1+random.IntN(9)) {
				listed[p.Pod.UID] = true
			}
			n := random.IntN(nodes)
			for p := range pods { // the node goes, or one pod of it
				if gone := types.UID(fmt.Sprintf("%d-%d", n, p)); random.IntN(3) > 0 {
					tracker.ForgetPod(at(20), gone)
					delete(stay, gone)
				}
			}
			if random.IntN(2) == 0 {
				tracker.ForgetNode(at(20), fmt.Sprint("node-", n))
				for p := range pods {
					delete(stay, types.UID(fmt.Sprintf("%d-%d", n, p)))
				}
			}
			name := fmt.Sprint("another-", random.IntN(5))
			tracker.ObserveNode(at(20), newNode(name, "NR@10"))
			tracker.ObservePod(at(20), newPod(fmt.Sprint("new-", random.IntN(50)), on(name), tolerates("NR:60")))
		}
		for id := range stay {
			require.True(t, listed[id], "seed %d: %s", seed, id)
		}
	}
}

// C3: how many wait for each budget is what the list of all says.
func TestC3DelayedCountsWhatPendingLists(t *testing.T) {
	budgets := []eviction.Budget{perNamespace(0.1, 1), perNode(0.4, 1), overall(0.6, 2)}
	tracker, err := eviction.NewTracker(eviction.Config{Budgets: budgets}, at(0))
	require.NoError(t, err)
	fill(tracker, 300, 300)
	reached := map[string]int{}
	for second := range 400 {
		now := at(301 + float64(second))
		for {
			task, ok := tracker.Start(now)
			if !ok {
				break
			}
			tracker.Finish(now, task, eviction.Result{Outcome: eviction.OutcomeFailed, RetryAfter: 7 * time.Second})
		}
		want, got := 0, 0
		for p := range tracker.Pending() {
			want += min(len(p.Budget), 1)
		}
		for _, b := range budgets { // while several delay a pod, another may be named
			delayed := tracker.Delayed(now, b.Name)
			got += delayed
			reached[b.Name] += delayed
		}
		require.Equal(t, want, got, "after %d s", second)
	}
	t.Log(reached)
	for _, b := range budgets {
		require.Positive(t, reached[b.Name], b.Name)
	}
}
