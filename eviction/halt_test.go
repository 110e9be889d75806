package eviction_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/eviction"
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
