package eviction_test

import (
	"fmt"
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

// C3: what is suspended holds before the slices do: for Start and for those who
// ask.
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

// C3: pods that became due while their taints were suspended are not lost, and
// leave in the order of their deadlines although they are decided in slices.
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
