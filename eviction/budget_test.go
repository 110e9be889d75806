package eviction_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

func overall(limit rate.Limit, burst int) eviction.Budget {
	return eviction.Budget{Name: "overall", Limit: limit, Held: limit == 0, Burst: burst}
}

func perNamespace(limit rate.Limit, burst int) eviction.Budget {
	return eviction.Budget{Name: "namespace",
		ByPod: func(pod *corev1.Pod) string { return pod.Namespace }, Limit: limit, Held: limit == 0, Burst: burst}
}

func perNode(limit rate.Limit, burst int) eviction.Budget {
	return eviction.Budget{Name: "node", ByNode: func(node *corev1.Node) string { return node.Name },
		Limit: limit, Held: limit == 0, Burst: burst}
}

func perZone(limit rate.Limit, burst int) eviction.Budget {
	return eviction.Budget{Name: "zone",
		ByNode: func(node *corev1.Node) string { return node.Labels["zone"] }, Limit: limit, Held: limit == 0, Burst: burst}
}

func budgets(all ...eviction.Budget) eviction.Config { return eviction.Config{Budgets: all} }

func inNamespace(namespace string) podOption {
	return func(
		p *corev1.Pod) {
		p.Namespace = namespace
	}
}

func withPriority(priority int32) podOption {
	return func(p *corev1.Pod) { p.Spec.Priority = &priority }
}

func inZone(name, zone string, taints ...string) *corev1.Node {
	node := newNode(name, taints...)
	node.Labels = map[string]string{"zone": zone}
	return node
}

// demand.md, thundering herd: budgets overall, per node and per namespace all
// hold. None of them delays a pod that it is not about.
func TestE8BudgetsLimitWhatTheyAreAboutAndNothingElse(t *testing.T) {
	pods := []*corev1.Pod{
		newPod("a1", inNamespace("a")), newPod("a2", inNamespace("a")), newPod("a3", inNamespace("a"),
			on("n2")),
		newPod("b1", inNamespace("b")), newPod("b2", inNamespace("b"), on("n2")),
		newPod("c1", inNamespace("c"), on("n2")),
	}
	for name, test := range map[string]struct {
		config eviction.Config
		want   [][]string // at 10 s, 11 s, ...
	}{
		"none": {eviction.Config{}, [][]string{{"a1", "a2", "b1", "a3", "b2", "c1"}}},
		"overall": {budgets(overall(1, 2)), [][]string{{"a1", "a2"}, {"b1"}, {"a3"}, {"b2"},
			{"c1"}}},
		"per namespace": {budgets(perNamespace(1, 1)), [][]string{{"a1", "b1", "c1"}, {"a2", "b2"},
			{"a3"}}},
		"per node": {budgets(perNode(1, 1)), [][]string{{"a1", "a3"}, {"a2", "b2"}, {"b1", "c1"}}},
		"both": {budgets(perNode(1, 1), perNamespace(0.5, 1)), [][]string{{"a1", "b2"}, {"c1"},
			{"a2"}, {"b1"}, {"a3"}}},
		"no limit": {budgets(perNode(rate.Inf, 1)),
			[][]string{{"a1", "a2", "b1", "a3", "b2", "c1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := runningWith(t, test.config, pods...)
			c.node(10, "n1", "x@10")
			c.node(10, "n2", "x@10")
			for i, want := range test.want {
				now := 10 + float64(i)
				for _, task := range c.start(now, want...) {
					c.finish(now, task, eviction.OutcomeEvicted)
				}
				if i+1 < len(test.want) && len(test.want[i+1]) > 0 {
					next, ok := c.Next(at(now))
					require.True(t, ok)
					require.Equal(t, now+1, next.Sub(at(0)).Seconds())
				}
			}
			c.idle(1000)
		})
	}
}

// E8: a zone's gate is shut, and opened at a rate. What became due meanwhile
// leaves at that rate, and not at once.
func TestE8ZoneGateReleasesWithoutABurst(t *testing.T) {
	c := startUpWith(t, 0, budgets(perZone(rate.Inf, 1)))
	c.ObserveNode(at(0), inZone("n1", "east"))
	c.ObserveNode(at(0), inZone("n2", "west"))
	for i := range 5 {
		c.pod(0, newPod(fmt.Sprintf("e%d", i)))
		c.pod(0, newPod(fmt.Sprintf("w%d", i), on("n2")))
	}
	c.MarkSynced()
	require.False(t, c.SetLimit(at(1), "rack", "east", 0), "there is no such budget")
	require.True(t, c.SetLimit(at(1), "zone", "east", 0))
	c.ObserveNode(at(10), inZone("n1", "east", "x@10"))
	c.ObserveNode(at(10), inZone("n2", "west", "x@10"))
	c.start(10, "w0", "w1", "w2", "w3", "w4")
	c.start(1000)
	_, ok := c.Next(at(1000))
	require.False(t, ok, "only a change makes a difference")

	require.True(t, c.SetLimit(at(1000), "zone", "east", 0.5))
	c.start(1000, "e0") // the token that was stored when the gate was shut
	for i := 1; i < 5; i++ {
		c.startOne(1000+2*float64(i), fmt.Sprintf("e%d", i))
	}
}

// A limit of its own that is the budget's is none, and one of a share that is
// not there yet counts when it comes.
func TestE8LimitOfAShareThatComesLater(t *testing.T) {
	c := startUpWith(t, 0, budgets(perZone(rate.Inf, 1)))
	c.SetLimit(at(0), "zone", "east", 0)
	c.ObserveNode(at(1), inZone("n1", "east", "x@1"))
	c.pod(1, newPod("p"))
	c.pod(1, newPod("q"))
	c.MarkSynced()
	c.start(5)
	c.SetLimit(at(6), "zone", "east", rate.Inf)
	c.start(6, "p", "q")
}

func TestE8OverallBudgetHolds(t *testing.T) {
	c := runningWith(t, budgets(overall(0, 1)), newPod("p"), newPod("q"))
	c.node(10, "n1", "x@10")
	c.start(100)
	_, ok := c.Next(at(100))
	require.False(t, ok)
	require.True(t, c.SetLimit(at(100), "overall", "whatever", 1))
	c.start(100, "p")
	c.startOne(101, "q")
}

// A pod waits for a token of a zone. When its node moves to another zone, the
// pod waits for a token of that one instead. A zone that is new then begins
// without one.
func TestE8PodFollowsItsNodeToAnotherShare(t *testing.T) {
	c := startUpWith(t, 0, budgets(perZone(1, 1)))
	c.ObserveNode(at(0), inZone("n1", "east", "x@0"))
	c.ObserveNode(at(0), inZone("n2", "west", "x@0"))
	for _, name := range []string{"p", "q", "r"} {
		c.pod(0, newPod(name))
	}
	c.pod(0, newPod("s", on("n2")))
	c.MarkSynced()
	c.SetLimit(at(0), "zone", "east", 0)
	c.SetLimit(at(0), "zone", "west", 0)
	c.start(1)
	c.ObserveNode(at(2), inZone("n1", "north", "x@0"))
	c.start(2.9)
	c.start(3, "p")
	c.ObserveNode(at(3), inZone("n1", "west", "x@0"))
	c.start(100)
	c.SetLimit(at(100), "zone", "north", 0)
	c.SetLimit(at(100), "zone", "west", 1)
	c.start(100, "q")
	c.start(101, "r")
	c.start(102, "s")
}

// So does one whose own share changes. It keeps its place, and what has come of
// it.
func TestE8PodThatChangesItsShareKeepsItsPlaceAndItsTries(t *testing.T) {
	team := eviction.Budget{Name: "team",
		ByPod: func(pod *corev1.Pod) string { return pod.Labels["team"] }, Limit: 1}
	of := func(name, team string) *corev1.Pod {
		pod := newPod(name)
		pod.Labels = map[string]string{"team": team}
		return pod
	}
	config := budgets(team)
	config.Backoff = twoSeconds.Backoff
	c := runningWith(t, config, of("p", "red"), of("q", "red"), of("r", "blue"), of("s", "blue"))
	c.SetLimit(at(0), "team", "red", 0)
	c.node(10, "n1", "x@10")
	c.finish(10, c.start(10, "r")[0], eviction.OutcomeFailed)
	c.SetLimit(at(10), "team", "blue", 0)
	c.start(20) // all wait for a token
	c.pod(20, of("q", "green"))
	c.start(20) // the share is new
	require.Zero(t, c.start(21, "q")[0].Attempts)
	c.pod(22, of("r", "green"))
	c.pod(22, of("p", "green"))
	require.Zero(t, c.start(22, "p")[0].Attempts, "it is due since 10 s")
	require.Equal(t, 1, c.start(23, "r")[0].Attempts, "it is to be tried again since 12 s")
	c.pod(24, of("s", "green"))
	c.start(24, "s")

	c.finish(24, c.work("r"), eviction.OutcomeFailed)
	c.pod(25, of("r", "white"))
	require.Equal(t, 2, c.startOne(26, "r").Attempts, "and waits for no less")
}

// E8: those of low priority first, if that is asked for, among what is due
// together.
func TestE8LowPriorityFirst(t *testing.T) {
	pods := []*corev1.Pod{
		newPod("high", withPriority(1000)), newPod("none"), newPod("low", withPriority(-5)),
		newPod("high2", withPriority(1000)), newPod("none2"), newPod("earlier", withPriority(2000)),
	}
	for _, pod := range pods {
		pod.Spec.Tolerations = tolerationList("a")
	}
	pods[5].Spec.Tolerations = tolerationList("a:1")
	c := runningWith(t, eviction.Config{}, pods...)
	c.node(1, "n1", "a@1")
	c.node(10, "n1", "a@1", "b@10")
	c.start(10, "earlier", "high", "none", "low", "high2", "none2")

	c = runningWith(t, eviction.Config{LowPriorityFirst: true}, pods...)
	c.node(1, "n1", "a@1")
	c.node(10, "n1", "a@1", "b@10")
	c.start(10, "earlier", "low", "none", "none2", "high", "high2")

	c = runningWith(t, eviction.Config{LowPriorityFirst: true,
		Budgets: []eviction.Budget{perNode(1, 1)}}, pods...)
	c.node(1, "n1", "a@1")
	c.node(2, "n1", "a@1", "b@2")
	c.start(2, "low")
	for i, name := range []string{"none", "none2", "high", "high2", "earlier"} {
		c.startOne(3+float64(i), name)
	}
}

// An attempt costs what it has done to the API server. One that has found
// nothing to do, or that a PodDisruptionBudget refused, gets its token back.
func TestE8OnlyWhatCountsUsesATokenUp(t *testing.T) {
	for outcome, used := range map[eviction.Outcome]bool{
		eviction.OutcomeEvicted: true, eviction.OutcomeFailed: true, "": true, "Unknown": true,
		eviction.OutcomeGone: false, eviction.OutcomeNotDue: false, eviction.OutcomeBlocked: false,
	} {
		c := runningWith(t, budgets(overall(0.5, 1), perNode(0.5, 1)), newPod("p"), newPod("q"))
		c.node(10, "n1", "x@10")
		c.finish(10, c.start(10, "p")[0], outcome)
		if used {
			c.startOne(12, "q")
			continue
		}
		c.start(10, "q")
	}
}

// What waits for a token is not forgotten when it changes, and does not wait
// for one that it does not need.
func TestE8WhatWaitsForATokenCanChange(t *testing.T) {
	wait := func(t *testing.T) cluster {
		c := runningWith(t, budgets(perNode(0.1, 1)), newPod("first"), newPod("p"), newPod("q"))
		c.node(10, "n1", "x@10")
		c.start(10, "first")
		require.Equal(t, 3, c.Waiting())
		return c
	}
	t.Run("forgotten", func(t *testing.T) {
		c := wait(t)
		c.ForgetPod(at(10), "p")
		require.Equal(t, 2, c.Waiting())
		c.startOne(20, "q")
	})
	t.Run("tolerant", func(t *testing.T) {
		c := wait(t)
		c.pod(11, newPod("p", tolerates("x")))
		require.Equal(t, 2, c.Waiting())
		c.startOne(20, "q")
	})
	t.Run("tolerant for a while", func(t *testing.T) {
		c := wait(t)
		c.pod(11, newPod("p", tolerates("x:60")))
		require.Equal(t, 3, c.Waiting())
		c.startOne(20, "q")
		c.startOne(70, "p")
	})
	t.Run("observed again", func(t *testing.T) {
		c := wait(t)
		c.pod(11, newPod("q"))
		c.pod(11, newPod("p"))
		c.startOne(20, "p")
		c.startOne(30, "q")
	})
	t.Run("untainted", func(t *testing.T) {
		c := wait(t)
		c.node(11, "n1")
		c.start(11)
		require.Equal(t, 1, c.Waiting())
	})
}

// Many shares come and go. A share that no pod needs is forgotten once its
// tokens are back. Earlier, it would have a whole burst again.
func TestE8ShareThatHasSpentItsTokensIsNotForgotten(t *testing.T) {
	c := runningWith(t, budgets(perNamespace(0.001, 2)))
	c.node(1, "n1", "x@1")
	for round := range 2 {
		for i := range 500 {
			name := fmt.Sprintf("c%d-%d", i, round)
			c.pod(1, newPod(name, inNamespace(fmt.Sprint("c", i))))
			c.finish(1, c.start(1, name)[0], eviction.OutcomeEvicted)
		}
	}
	c.pod(2, newPod("a third", inNamespace("c0")))
	c.start(2)
}

func TestE8SharesThatNoPodNeedsUseNoMemory(t *testing.T) {
	c := runningWith(t, budgets(perNamespace(100, 1), perNode(100, 1)))
	churn := func(from, to int) {
		for i := from; i < to; i++ {
			now, name := float64(i)/10, fmt.Sprint("c", i)
			c.node(now, name, "x")
			c.pod(now, newPod(name, inNamespace(name), on(name)))
			c.finish(now, c.start(now, name)[0], eviction.OutcomeEvicted)
			c.ForgetPod(at(now), types.UID(name))
			c.ForgetNode(at(now), name)
			delete(c.tasks, name)
			delete(c.pods, types.UID(name))
		}
	}
	churn(0, 1000)
	before := heapInUse()
	churn(1000, 20_000)
	require.Less(t, heapInUse()-before, 200_000, "bytes after 19,000 more shares")
	c.start(1e6)
}

// A zone of a million pods is due at once, and its budget lets one go. No
// caller may wait for the tracker's lock until all others have been put aside.
func TestE8ManyThatWaitForABudgetAreTakenInParts(t *testing.T) {
	const pods = 25_000
	c := runningWith(t, budgets(perNamespace(0.001, 1)))
	for i := range pods {
		c.pod(1, newPod(fmt.Sprint("p", i), inNamespace("crowd")))
	}
	c.pod(1, newPod("other", inNamespace("alone")))
	c.node(10, "n1", "x@10")
	first, ok := c.Start(at(10))
	require.True(t, ok)
	require.Equal(t, "p0", first.Pod.Name)
	starts := 0
	for ; ; starts++ {
		task, ok := c.Start(at(10))
		if ok {
			require.Equal(t, "other", task.Pod.Name, "no other pod delays it")
			break
		}
		next, ok := c.Next(at(10))
		require.True(t, ok)
		require.False(t, next.After(at(10)), "there are more to move")
	}
	require.Equal(t, pods/5000-1, starts, "at most 5000 are moved at a time")
	c.start(10)
	next, ok := c.Next(at(10))
	require.True(t, ok)
	require.Equal(t, at(1010), next)
}

// The share depends on something else than the pod, for example on which
// PodDisruptionBudget selects it.
func TestE8PodIsObservedAgainWhenItsShareChanges(t *testing.T) {
	budget := map[string]string{"p": "tight", "q": "tight"}
	c := runningWith(t, budgets(eviction.Budget{
		Name: "disruptions", Limit: 0.001, Burst: 1,
		ByPod: func(pod *corev1.Pod) string { return budget[pod.Name] },
	}), newPod("p"), newPod("q"))
	c.node(10, "n1", "x@10")
	c.start(10, "p")
	c.SetLimit(at(11), "disruptions", "loose", rate.Inf)
	budget["q"] = "loose"
	c.start(12)
	c.pod(13, newPod("q"))
	c.start(13, "q")
}

func TestE8BudgetsAreChecked(t *testing.T) {
	both := perNode(1, 1)
	both.ByPod = perNamespace(1, 1).ByPod
	for message, budgets := range map[string][]eviction.Budget{
		`budget "": Name is empty`:                                      {{Limit: 1}},
		`budget "node": several of ByPod, ByNode and BySubject are set`: {both},
		`budget "forgotten": Limit is 0`:                                {{Name: "forgotten"}},
		`budget "overall": Limit is -1`:                                 {overall(-1, 1)},
		`budget "overall": Limit is NaN`:                                {overall(rate.Limit(math.NaN()), 1)},
		`budget "overall": Burst is -1`:                                 {overall(1, -1)},
		`two budgets have the name "node"`:                              {perNode(1, 1), perNode(1, 1)},
	} {
		_, err := eviction.NewTracker(eviction.Config{Budgets: budgets}, at(0))
		require.ErrorIs(t, err, eviction.ErrInvalidConfig)
		require.ErrorContains(t, err, message)
	}
}
