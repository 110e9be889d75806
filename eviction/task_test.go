package eviction_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// handMade are tasks that no tracker has handed out.
func handMade() map[string]eviction.Task {
	pod := eviction.Key{Namespace: "ns", Name: "p", UID: "p"}
	return map[string]eviction.Task{
		"the zero value": {},
		"of a pod":       {Pod: pod, Node: "n1", StartedAt: at(10), HasDisruptionTarget: true},
		"due": {
			Pod: pod, Node: "n1", StartedAt: at(10),
			Decision: eviction.Decision{Reason: eviction.ReasonUntolerated, Due: at(5)},
		},
	}
}

// E10: a caller tests its own actions with tasks that it makes. They are never
// canceled, nothing is known that could be decided again, and none panics.
func TestE10HandMadeTask(t *testing.T) {
	for name, task := range handMade() {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer()
			server.put(newPod("p"))
			server.putNode(newNode("n1", "a"))
			deleter, err := eviction.NewDeleter(eviction.DeleterConfig{Pods: server.client,
				Confirm: nodeClient{server}})
			require.NoError(t, err)
			result := deleter.Act(t.Context(), task)
			require.NotEqual(t, eviction.OutcomeEvicted, result.Outcome)
			require.NotContains(t, server.verbs(), "delete")
			require.Equal(t, eviction.Decision{Reason: eviction.ReasonGone}, task.Reevaluate(newPod("p"),
				newNode("n1", "a"), at(20)))
			require.False(t, task.Canceled())
		})
	}
}

func TestE10FinishOfAHandMadeTaskChangesNothing(t *testing.T) {
	for name, task := range handMade() {
		for _, outcome := range outcomes {
			c := running(t, newPod("p"), newPod("m", on("n2")))
			c.finish(5, task, outcome)
			c.node(10, "n1", "a@10")
			c.node(10, "n2", "a@10")
			c.finish(10, task, outcome)
			first := c.start(10, "p", "m")[0]
			c.finish(10, task, outcome)
			require.Equal(t, 2, c.Waiting(), name)
			c.start(1000)
			c.finish(1000, first, eviction.OutcomeEvicted)
			c.finish(1000, task, outcome)
			c.stays("p", eviction.ReasonGone)
		}
	}
}

// A program that starts again with another tracker may still get results of the
// old one.
func TestE4TaskOfAnotherTrackerChangesNothing(t *testing.T) {
	old, c := runningWith(t, twoSeconds, newPod("p")), runningWith(t, twoSeconds, newPod("p"))
	for _, tracker := range []cluster{old, c} {
		tracker.node(10, "n1", "x@10")
	}
	task := old.start(10, "p")[0]
	c.finish(11, task, eviction.OutcomeEvicted)
	require.Equal(t, 1, c.Waiting())
	mine := c.start(11, "p")[0]
	c.finish(11, task, eviction.OutcomeEvicted)
	c.start(11)
	c.Finish(at(11), mine, eviction.Result{Outcome: eviction.OutcomeFailed, Err: errors.New("no"),
		RetryAfter: time.Second})
	c.startOne(12, "p")
}

// C1: only requests that an action counts come back, and never more than were
// granted.
func TestC1ResultTellsWhatItHasNotSent(t *testing.T) {
	for name, test := range map[string]struct {
		result  eviction.Result
		unspent int // of three
	}{
		"counted":          {eviction.Result{Outcome: eviction.OutcomeEvicted, Requests: 2}, 1},
		"counted, failed":  {eviction.Result{Outcome: eviction.OutcomeFailed, Requests: 1}, 2},
		"counted too many": {eviction.Result{Requests: 4}, 0},
		"not counted":      {eviction.Result{Outcome: eviction.OutcomeEvicted}, 0},
		"the zero value":   {eviction.Result{}, 0},
		"dry run":          {eviction.Result{Outcome: eviction.OutcomeDryRun}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var result timedqueue.Unspent = test.result
			require.Equal(t, test.unspent, result.Unspent(3))
		})
	}
}
