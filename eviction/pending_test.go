package eviction_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

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

// C3: metrics read running counts.
func TestC3MetricsReadCounts(t *testing.T) {
	tracker := crowdedNodes(t, 10, 100)
	since, overdue := tracker.Overdue(at(300))
	require.True(t, overdue)
	require.Equal(t, at(70), since)
	require.Equal(t, 1000, tracker.Waiting())
	require.Zero(t, tracker.Acting())
	require.Zero(t, tracker.Delayed("overall"))
}

// C3: what waits is listed node by node, so that a caller can release its lock
// in between. Whatever comes and goes meanwhile, each pod that waits all the
// time is listed once.
func TestC3PendingIsListedNodeByNode(t *testing.T) {
	const nodes, pods = 9, 8
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 9))
		tracker := crowdedNodes(t, nodes, pods)
		tracker.ObserveNode(at(10), newNode("node-3")) // none of it waits
		stay := podsOf(nodes, pods)
		for p := range pods {
			delete(stay, types.UID(fmt.Sprintf("3-%d", p)))
		}
		listed := map[types.UID]int{}
		names := tracker.Nodes()
		require.Len(t, names, nodes)
		for _, name := range names {
			for p := range tracker.PendingOn(name) {
				listed[p.Pod.UID]++
				require.Equal(t, name, p.Node)
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
			tracker.ObservePod(at(20), newPod(fmt.Sprint("new-", random.IntN(50)), on(name),
				tolerates("NR:60")))
		}
		for id := range stay {
			require.Equal(t, 1, listed[id], "seed %d: %s", seed, id)
		}
		require.NotContains(t, listed, types.UID("3-0"), "it does not wait")
	}
}

// C3: how many wait for each budget is what the list of all says.
func TestC3DelayedCountsWhatPendingLists(t *testing.T) {
	budgets := []eviction.Budget{perNamespace(0.1, 1), perNode(0.4, 1)}
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
			tracker.Finish(now, task, eviction.Result{Outcome: eviction.OutcomeFailed,
				RetryAfter: 7 * time.Second})
		}
		want, got := 0, 0
		for p := range tracker.Pending() {
			want += min(len(p.Budget), 1)
		}
		for _, b := range budgets { // while several delay a pod, another may be named
			delayed := tracker.Delayed(b.Name)
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

// Pending lists each pod's deadline, its reason, and what delays it.
func TestPendingListsDeadlinesAndReasons(t *testing.T) {
	c := runningWith(t, eviction.Config{Backoff: twoSeconds.Backoff,
		Budgets: []eviction.Budget{overall(0.01, 2), perNamespace(0.001, 1)}},
		newPod("acting", inNamespace("a")), newPod("no token", inNamespace("a")),
		newPod("none at all", inNamespace("b")),
		newPod("failed", inNamespace("c")), newPod("later", tolerates("x:60")),
		newPod("stays", tolerates("x")))
	c.hold(0, "ours", true)
	c.node(0, "n2", "NR@0", "x@5")
	c.pod(0, newPod("held", on("n2"), tolerates("NR:2", "x")))
	c.pod(0, newPod("held for now", on("n2"), tolerates("NR:2", "x:60")))
	c.node(10, "n1", "x@10")
	works := c.start(10, "acting", "none at all")
	c.finish(10, works[1], eviction.OutcomeBlocked)
	c.start(10, "failed")
	c.finish(10, c.work("failed"), eviction.OutcomeFailed)
	c.start(12)
	type told struct {
		reason eviction.Reason
		at     float64
		tries  int
		budget string
		hold   string
		acting bool
		node   string
	}
	got := map[string]told{}
	for p := range c.Pending() {
		seconds := math.Inf(1)
		if !p.NextAttempt.IsZero() {
			seconds = p.NextAttempt.Sub(at(0)).Seconds()
		}
		got[p.Pod.Name] = told{p.Decision.Reason, seconds, p.Attempts, p.Budget, p.Hold,
			p.Acting, p.Node}
	}
	never := math.Inf(1)
	require.Equal(t, map[string]told{
		"acting":       {eviction.ReasonUntolerated, never, 0, "", "", true, "n1"},
		"no token":     {eviction.ReasonUntolerated, 10, 0, "namespace", "", false, "n1"},
		"none at all":  {eviction.ReasonUntolerated, 12, 0, "overall", "", false, "n1"},
		"failed":       {eviction.ReasonUntolerated, 12, 1, "overall", "", false, "n1"},
		"later":        {eviction.ReasonTolerationEnds, 70, 0, "", "", false, "n1"},
		"held":         {eviction.ReasonTolerationEnds, never, 0, "", "ours", false, "n2"},
		"held for now": {eviction.ReasonTolerationEnds, 60, 0, "", "ours", false, "n2"},
	}, got)
	require.Equal(t, len(got), c.Waiting())
	for range c.Pending() {
		break // is heeded
	}
}

// E14: the age is that of the oldest deadline, wherever its pod waits, with one
// that is denied among a million that are not due.
func TestE14OverdueIsTheOldestDeadline(t *testing.T) {
	overdueSince := func(c cluster, seconds, since float64) {
		c.Helper()
		got, overdue := c.Overdue(at(seconds))
		require.True(c, overdue)
		require.Equal(c, since, got.Sub(at(0)).Seconds())
	}
	t.Run("backs off", func(t *testing.T) {
		c := running(t, newPod("denied"))
		for i := range eviction.Sized(1000, 1_000_000) {
			c.ObservePod(at(0), newPod(fmt.Sprint("later-", i), tolerates("a:100000")))
		}
		c.node(10, "n1", "a@10")
		for now := 10.0; now < 1000; {
			task := c.start(now, "denied")[0]
			overdueSince(c, now+0.25, 10)
			c.Finish(at(now+0.25), task, eviction.Result{Err: errors.New("denied")})
			overdueSince(c, now+0.5, 10)
			next, ok := c.Next(at(now + 0.5))
			require.True(t, ok)
			now = next.Sub(at(0)).Seconds()
		}
	})
	t.Run("is held", func(t *testing.T) {
		c := running(t, newPod("first", tolerates("a:5")), newPod("second", tolerates("a:9")))
		c.hold(0, "all", true)
		c.node(10, "n1", "a@10")
		overdueSince(c, 100, 15)
		c.start(100)
		overdueSince(c, 100, 15)
		c.ForgetPod(at(100), "first")
		overdueSince(c, 100, 19)
		c.hold(200, "all", false)
		overdueSince(c, 200, 19)
		c.start(200, "second")
	})
	t.Run("waits for a budget", func(t *testing.T) {
		c := runningWith(t, budgets(perNode(0.001, 1)), newPod("p"), newPod("q"))
		c.node(10, "n1", "a@10")
		c.finish(10, c.start(10, "p")[0], eviction.OutcomeEvicted)
		c.start(50)
		overdueSince(c, 60, 10)
	})
	t.Run("is under way", func(t *testing.T) {
		c := running(t, newPod("p"))
		c.node(10, "n1", "a@10")
		task := c.start(30, "p")[0]
		overdueSince(c, 40, 10)
		c.finish(41, task, eviction.OutcomeEvicted)
		_, overdue := c.Overdue(at(42))
		require.False(t, overdue)
	})
	t.Run("is held and due by a later taint", func(t *testing.T) {
		c := runningWith(t, budgets(overall(0, 1)), newPod("p", tolerates("NR:1", "b:5")))
		c.hold(0, "ours", true)
		c.node(10, "n1", "NR@10", "b@10")
		overdueSince(c, 60, 11)
		c.start(60)
		c.node(61, "n1", "NR@10", "b@10", "c@12")
		overdueSince(c, 62, 11)
	})
}

func TestOverdueOfNothingIsNothing(t *testing.T) {
	c := running(t, newPod("p", tolerates("x:60")))
	c.node(10, "n1", "x@10")
	since, overdue := c.Overdue(at(69))
	require.False(t, overdue, "%v", since)
}
