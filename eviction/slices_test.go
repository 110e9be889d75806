package eviction_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
)

const (
	// heavyPods are the most pods of a node by default, and heavyTolerations the
	// most tolerations that etcd takes in a pod.
	heavyPods, heavyTolerations = 110, 131_072
	// mostInATurn are the 1,000 records of a slice and what its last pod is more.
	mostInATurn = 1000 + 1 + 2*heavyTolerations/256
)

// heavyNode is a tracker with a node of such pods, and one with a pod that
// tolerates nothing. The heavy ones tolerate the taints a and NR for 60
// seconds.
func heavyNode(t *testing.T) *eviction.Tracker {
	t.Helper()
	tracker, err := eviction.NewTracker(eviction.Config{}, at(0))
	require.NoError(t, err)
	tracker.ObserveNode(at(0), newNode("heavy"))
	tracker.ObserveNode(at(0), newNode("light"))
	tracker.ObservePod(at(0), newPod("light", on("light")))
	pod := newPod("", tolerates("a:60", "NR:60"))
	many := slices.Concat(slices.Repeat([]corev1.Toleration{{Key: "k"}}, heavyTolerations),
		pod.Spec.Tolerations)
	for i := range heavyPods {
		pod := newPod(fmt.Sprint("heavy-", i), on("heavy"))
		pod.Spec.Tolerations = many
		tracker.ObservePod(at(0), pod)
	}
	tracker.MarkSynced()
	tracker.Visited()
	return tracker
}

// inTurns goes on until nothing is to be decided again, and returns the turns.
func inTurns(t *testing.T, tracker *eviction.Tracker) int {
	t.Helper()
	turns := 1
	require.LessOrEqual(t, tracker.Visited(), mostInATurn)
	for ; tracker.Reevaluate(at(20)); turns++ {
		require.LessOrEqual(t, tracker.Visited(), mostInATurn)
	}
	require.LessOrEqual(t, tracker.Visited(), mostInATurn)
	return turns
}

// C3: pods have as many tolerations as fit into an object. Each turn decides a
// few of them, whatever decides all pods of a node again.
func TestC3PodsWithManyTolerationsAreDecidedInSlices(t *testing.T) {
	tracker := heavyNode(t)
	for _, change := range []struct {
		name    string
		by      func()
		waiting int
		cheap   bool
	}{
		{"a taint is added", func() { tracker.ObserveNode(at(10), newNode("heavy", "NR@10")) }, heavyPods,
			false},
		{"a second one", func() { tracker.ObserveNode(at(10), newNode("heavy", "NR@10", "a@10")) },
			heavyPods, false},
		{"one is suspended there",
			func() { tracker.SuspendTaintsOn(at(10), "heavy", taints.OwnsNoExecute) }, heavyPods, false},
		{"the same", func() { tracker.SuspendTaintsOn(at(10), "heavy", taints.OwnsNoExecute) }, heavyPods,
			true},
		{"no more", func() { tracker.SuspendTaintsOn(at(10), "heavy", nil) }, heavyPods, false},
		{"all are suspended",
			func() { tracker.SuspendTaints(at(10), func(*corev1.Taint) bool { return true }) }, 0, false},
		{"the node is evicted", func() { tracker.EvictNode(at(10), "heavy", "drain") }, heavyPods, false},
		{"evictions are held", func() { tracker.Halt(at(10)) }, heavyPods, true},
		{"no more", func() { tracker.Resume(at(10)) }, heavyPods, true},
		{"it is evicted no more", func() { tracker.CancelNodeEviction(at(10), "heavy") }, 0, false},
		{"none is suspended", func() { tracker.SuspendTaints(at(10), nil) }, heavyPods, false},
		{"no taint", func() { tracker.ObserveNode(at(10), newNode("heavy")) }, 0, true},
		{"the taint comes back", func() { tracker.ObserveNode(at(20), newNode("heavy", "NR@20")) },
			heavyPods, false},
		{"the node is deleted", func() { tracker.ForgetNode(at(20), "heavy") }, 0, true},
	} {
		change.by()
		turns := inTurns(t, tracker)
		require.Equal(t, change.waiting, tracker.Waiting(), change.name)
		if !change.cheap {
			require.GreaterOrEqual(t, turns, heavyPods/4, change.name)
		}
	}
}

// C3: a page lists a few of them in each part.
func TestC3PodsWithManyTolerationsAreListedInParts(t *testing.T) {
	tracker := heavyNode(t)
	tracker.ObserveNode(at(10), newNode("heavy", "NR@10"))
	inTurns(t, tracker)
	listed := 0
	for c := new(eviction.Cursor); !c.Ended(); {
		in := 0
		for range tracker.PendingFrom(c, 2000) {
			in++
		}
		require.LessOrEqual(t, in, 4)
		listed += in
	}
	require.Equal(t, heavyPods, listed)
}

// C2, C3: while the pods of a node are decided in slices, those of other nodes
// leave. They also do when the node changes so fast that its slices never end.
func TestC2PodsOfOthersLeaveWhileANodeIsDecidedInSlices(t *testing.T) {
	tracker := heavyNode(t)
	tracker.SetSlice(600)
	for i := range 10 {
		tracker.ObserveNode(at(10), newNode("heavy", fmt.Sprintf("a=%d@10", i)))
		require.True(t, tracker.Reevaluating())
	}
	tracker.ObserveNode(at(10), newNode("light", "b@10"))
	at10, ok := tracker.NextTask(at(10))
	require.True(t, ok)
	require.Equal(t, at(10), at10)
	task, ok := tracker.Start(at(10))
	require.True(t, ok)
	require.Equal(t, "light", task.Pod.Name)
	require.True(t, tracker.Reevaluating())
	_, ok = tracker.NextTask(at(10))
	require.True(t, ok, "the deadlines of those that are decided")
}

// C2: a node that changes before its slices end does not begin again each time:
// each of its pods has its turn.
func TestC2ANodeThatChangesAllTheTimeDecidesAllItsPods(t *testing.T) {
	tracker := heavyNode(t)
	tracker.SetSlice(600)
	for i := range heavyPods {
		tracker.ObserveNode(at(10), newNode("heavy", fmt.Sprintf("a=%d@10", i)))
	}
	require.Equal(t, heavyPods, tracker.Waiting())
	require.True(t, tracker.Reevaluating())
}

// E6: a pod that is not due any more is not handed out before its slice comes.
// An action under way is canceled at once. It goes on if its pod is found to be
// due still.
func TestE6ASliceThatComesLateEvictsNothing(t *testing.T) {
	tracker := heavyNode(t)
	tracker.ObserveNode(at(10), newNode("heavy", "NR@10"))
	inTurns(t, tracker)
	var tasks []eviction.Task
	for range 5 {
		task, ok := tracker.Start(at(71))
		require.True(t, ok)
		tasks = append(tasks, task)
	}
	tracker.Visited()
	canceled := func() (n int) {
		for _, task := range tasks {
			if task.Canceled() {
				n++
			}
		}
		return n
	}

	tracker.ObserveNode(at(72), newNode("heavy", "NR@10", "b@72")) // which none tolerates
	require.LessOrEqual(t, tracker.Visited(), mostInATurn+len(tasks))
	require.GreaterOrEqual(t, canceled(), 3, "until they are decided")
	for tracker.Reevaluate(at(72)) {
		continue
	}
	require.Zero(t, canceled())

	tracker.Visited()
	tracker.ObserveNode(at(73), newNode("heavy", "a@73"))
	require.LessOrEqual(t, tracker.Visited(), mostInATurn+len(tasks))
	require.Equal(t, len(tasks), canceled())
	require.Greater(t, tracker.Waiting(), 100, "as they were decided before")
	for slice := 0; tracker.Reevaluating(); slice++ {
		_, ok := tracker.Start(at(73))
		require.False(t, ok, "slice %d", slice)
		require.LessOrEqual(t, tracker.Visited(), 2*mostInATurn)
	}
	for _, task := range tasks {
		tracker.Finish(at(73), task, eviction.Result{Outcome: eviction.OutcomeNotDue})
	}
	left := map[types.UID]bool{}
	for range heavyPods {
		task, ok := tracker.Start(at(140))
		require.True(t, ok)
		left[task.Pod.UID] = true
	}
	require.Len(t, left, heavyPods)
}

// C3: what is under way for such pods counts as moot until they are decided,
// when all that is under way is concerned.
func TestC3ActionsForPodsWithManyTolerationsAreCanceledInOneTurn(t *testing.T) {
	tracker := heavyNode(t)
	tracker.ObserveNode(at(10), newNode("heavy", "NR@10"))
	inTurns(t, tracker)
	var tasks []eviction.Task
	for range 50 {
		task, ok := tracker.Start(at(71))
		require.True(t, ok)
		tasks = append(tasks, task)
	}
	for step, change := range []func(){
		func() { tracker.SuspendTaints(at(72), taints.OwnsNoExecute) },
		func() { tracker.SuspendTaints(at(72), nil) },
		func() { tracker.Halt(at(72)) },
		func() { tracker.Resume(at(72)) },
		func() { tracker.SuspendTaints(at(72), nil) },
		func() { tracker.SuspendTaintsOn(at(72), "heavy", taints.OwnsNoExecute) },
		func() { tracker.SuspendTaintsOn(at(72), "heavy", nil) },
	} {
		tracker.Visited()
		change()
		require.LessOrEqual(t, tracker.Visited(), mostInATurn+len(tasks), "step %d", step)
	}
	for tracker.Reevaluate(at(72)) {
		continue
	}
	for _, task := range tasks {
		tracker.Finish(at(72), task, eviction.Result{Outcome: eviction.OutcomeNotDue})
	}
	require.Equal(t, heavyPods, tracker.Waiting(), "none is lost")
}
