package eviction_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/eviction"
)

// An action may come late, for example because a client limits its rate. It
// writes when it was decided and not when it was sent.
func TestDeleteTakesItsTimeFromTheWork(t *testing.T) {
	for name, options := range map[string]sceneOptions{
		"mark":              {},
		"mark after a read": {confirm: true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, options, func(s *scene) {
				time.Sleep(time.Hour)
				require.NoError(s, s.delete.Act(s.Context(), s.work).Err)
				patch := s.calls[len(s.calls)-1]
				if patch.verb == "delete" {
					patch = s.calls[len(s.calls)-2]
				}
				require.Contains(s, patch.patch, `"lastTransitionTime":"2000-01-01T00:00:00Z"`)
			})
		})
	}
}

// A simulator drives it: its times are years away from the clock of the process
// and have no monotonic reading. What comes out is the same each time.
func TestDeleteRunsInVirtualTime(t *testing.T) {
	run := func(t *testing.T) []call {
		s := newAPIServer()
		s.put(newPod("p", tolerates("a:30")))
		s.putNode(newNode("n1", "a@0"))
		deletion, err := eviction.NewDeleter(eviction.DeleterConfig{Pods: s.client,
			Confirm: nodeClient{s}})
		require.NoError(t, err)
		tracker, err := eviction.NewTracker(eviction.Config{}, at(0))
		require.NoError(t, err)
		tracker.ObserveNode(at(1), newNode("n1", "a@0"))
		tracker.ObservePod(at(1), newPod("p", tolerates("a:30")))
		tracker.MarkSynced()
		task, ok := tracker.Start(at(31))
		require.True(t, ok)
		result := deletion.Act(t.Context(), task)
		require.Equal(t, eviction.OutcomeEvicted, result.Outcome, "%v", result.Err)
		require.Contains(t, s.calls[2].patch,
			`"lastTransitionTime":"`+at(31).UTC().Format(time.RFC3339)+`"`)
		return s.calls
	}
	first := run(t)
	synctest.Test(t, func(t *testing.T) { // whose clock shows another century
		require.Equal(t, first, run(t))
	})
}

// A pod that becomes due between Start and the read is late by one more
// attempt, and not lost.
func TestE6ConfirmationCountsToWhenTheWorkWasHandedOut(t *testing.T) {
	play(t, sceneOptions{confirm: true}, func(s *scene) {
		changed := newPod("p", tolerates("a:5"))
		s.put(changed)
		time.Sleep(10 * time.Second)
		result := s.acts(eviction.OutcomeNotDue, "get pod", "get node")
		s.tracker.Finish(time.Now(), s.work, result)
		s.tracker.ObservePod(time.Now(), changed)

		next, ok := s.tracker.Next(time.Now())
		require.True(s, ok)
		require.Equal(s, time.Second, time.Until(next))
		time.Sleep(time.Second)
		s.work, ok = s.tracker.Start(time.Now())
		require.True(s, ok)
		s.acts(eviction.OutcomeEvicted, "get pod", "get node", "patch", "delete")
	})
}

// A clock that was set back does not make work older than what was known
// before.
func TestWorkSaysWhenItWasHandedOut(t *testing.T) {
	tracker, err := eviction.NewTracker(eviction.Config{}, at(0))
	require.NoError(t, err)
	tracker.ObserveNode(at(0), newNode("n1", "a"))
	tracker.ObservePod(at(0), newPod("p"))
	tracker.ObservePod(at(0), newPod("q"))
	tracker.MarkSynced()
	for _, test := range []struct{ now, want float64 }{{5, 5}, {-60, 5}} {
		task, ok := tracker.Start(at(test.now))
		require.True(t, ok)
		require.Equal(t, at(test.want), task.StartedAt)
	}
}

// demand.md PRs #141311, #141742: upstream's metric of latency is a duration
// times 1e9, which overflows after nine seconds. Here late is a time.Duration
// from the deadline to when the work was handed out, also after hours.
func TestLatencyIsADuration(t *testing.T) {
	c := runningWith(t, eviction.Config{Budgets: []eviction.Budget{overall(0, 1)}},
		newPod("p", tolerates("a:60")))
	c.node(10, "n1", "a@10")
	c.start(10_000)
	c.SetLimit(at(10_870), "overall", "", 1)
	task := c.start(10_870, "p")[0]
	require.Equal(t, 3*time.Hour, task.StartedAt.Sub(task.Decision.Due))
	require.Equal(t, 10_800.0, task.StartedAt.Sub(task.Decision.Due).Seconds())
}
