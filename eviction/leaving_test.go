package eviction_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
)

// oneNodeAtATime is a budget under which the pods of one node of a zone leave at
// a time.
func oneNodeAtATime() eviction.Budget {
	b := perZone(rate.Inf, 1)
	b.MaxNodes = 1
	return b
}

// going is terminating, with a grace period of 30 seconds that ends then.
func going(seconds float64) podOption {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp = stamp(seconds)
		p.DeletionGracePeriodSeconds = ptr.To[int64](30)
	}
}

// twoNodes is a tracker with pods on two nodes of a zone, which they must leave.
func twoNodes(t *testing.T, config eviction.Config) cluster {
	t.Helper()
	c := startUpWith(t, 0, config)
	for _, name := range []string{"n1", "n2"} {
		c.ObserveNode(at(0), inZone(name, "east"))
		for _, pod := range []string{"a", "b"} {
			c.pod(0, newPod(name+pod, on(name)))
		}
	}
	c.MarkSynced()
	c.ObserveNode(at(10), inZone("n1", "east", "x@10"))
	c.ObserveNode(at(11), inZone("n2", "east", "x@11"))
	return c
}

// Q14: the next node of a zone has its turn when the pods of the first are gone,
// and not when their evictions are accepted.
func TestQ14OneNodeOfAZoneAtATime(t *testing.T) {
	c := twoNodes(t, budgets(oneNodeAtATime()))
	tasks := c.start(20, "n1a", "n1b")
	for _, task := range tasks {
		c.Finish(at(20), task, eviction.Result{Outcome: eviction.OutcomeEvicted})
	}
	c.start(20.5)
	c.pod(21, newPod("n1a", on("n1"), going(50)))
	c.start(21)
	c.ForgetPod(at(30), "n1a")
	c.start(30)
	c.pod(31, newPod("n1b", on("n1"), going(50)))
	c.start(49)
	c.ForgetPod(at(50), "n1b")
	c.start(50, "n2a", "n2b")
}

// A dead node's pods terminate for ever, and hold up nothing for longer than
// their grace period and a minute.
func TestQ14DeadNodeHoldsUpNobody(t *testing.T) {
	for name, test := range map[string]struct {
		config eviction.Config
		until  float64
	}{
		"by default": {budgets(oneNodeAtATime()), 110},
		"configured": {eviction.Config{Budgets: []eviction.Budget{oneNodeAtATime()},
			MostTerminating: 5 * time.Second}, 55},
	} {
		t.Run(name, func(t *testing.T) {
			c := twoNodes(t, test.config)
			for _, task := range c.start(20, "n1a", "n1b") {
				c.Finish(at(20), task, eviction.Result{Outcome: eviction.OutcomeEvicted})
				c.pod(20, newPod(task.Pod.Name, on("n1"), going(50)))
			}
			c.start(test.until - 1)
			c.pod(test.until-1, newPod("n1a", on("n1"), going(50))) // that does not begin anew
			next, ok := c.Next(at(test.until - 1))
			require.True(t, ok)
			require.Equal(t, at(test.until), next)
			c.start(test.until, "n2a", "n2b")
			c.pod(test.until+1, newPod("n1a", on("n1"), going(50)))
		})
	}
}

// A pod whose action ends after its time has passed holds up nothing either, and
// the clock of the API server may be ahead.
func TestQ14LateResultHoldsUpNobody(t *testing.T) {
	c := twoNodes(t, budgets(oneNodeAtATime()))
	tasks := c.start(20, "n1a", "n1b")
	for _, task := range tasks {
		c.pod(21, newPod(task.Pod.Name, on("n1"), going(4000)))
	}
	c.start(150)
	for _, task := range tasks {
		c.Finish(at(200), task, eviction.Result{Outcome: eviction.OutcomeEvicted})
	}
	c.start(201, "n2a", "n2b")
}

// An eviction that is accepted and not observed is made again, and has its slot
// meanwhile. One that finds nothing to do has none.
func TestQ14SlotOfAnEvictionThatIsNotObserved(t *testing.T) {
	config := budgets(oneNodeAtATime())
	config.Backoff = twoSeconds.Backoff
	c := twoNodes(t, config)
	tasks := c.start(20, "n1a", "n1b")
	c.Finish(at(20), tasks[0], eviction.Result{Outcome: eviction.OutcomeEvicted})
	c.Finish(at(20), tasks[1], eviction.Result{Outcome: eviction.OutcomeGone})
	c.start(21)
	tasks = c.start(22, "n1a", "n1b")
	c.Finish(at(22), tasks[0], eviction.Result{Outcome: eviction.OutcomeGone})
	c.Finish(at(22), tasks[1], eviction.Result{Outcome: eviction.OutcomeNotDue})
	c.start(22, "n2a", "n2b")
}

// After a start, what was evicted before counts by its condition; a pod that its
// owner deletes does not. The nodes may be observed after the pods.
func TestQ14SlotsAreCountedAfterAStart(t *testing.T) {
	for name, option := range map[string]podOption{
		"evicted": marked,
		"deleted": func(*corev1.Pod) {},
	} {
		t.Run(name, func(t *testing.T) {
			c := startUpWith(t, 100, budgets(oneNodeAtATime()))
			c.pod(100, newPod("n2a", on("n2")))
			c.pod(100, newPod("n1a", on("n1"), option, going(120)))
			c.pod(100, newPod("n1b", on("n1")))
			c.ObserveNode(at(100), inZone("n1", "east", "x@11"))
			c.ObserveNode(at(100), inZone("n2", "east", "x@10"))
			c.MarkSynced()
			if name == "deleted" {
				c.start(100, "n2a")
				return
			}
			c.start(100, "n1b")
			c.ForgetPod(at(101), "n1a")
			c.finish(102, c.work("n1b"), eviction.OutcomeEvicted)
			c.ForgetPod(at(103), "n1b")
			c.start(104, "n2a")
		})
	}
}

// Q14: at no time are pods leaving from more nodes of a zone than its budget
// says, whatever happens, and each pod leaves in the end.
func TestQ14NeverMoreNodesThanTheBudgetSays(t *testing.T) {
	for seed := range uint64(eviction.Sized(30, 1000)) {
		random := rand.New(rand.NewPCG(seed, 14))
		most := 1 + random.IntN(2)
		budget := perZone(rate.Inf, 1)
		budget.MaxNodes = most
		c := startUpWith(t, 0, eviction.Config{
			Backoff: twoSeconds.Backoff, Budgets: []eviction.Budget{budget},
		})
		left := map[types.UID]*corev1.Pod{} // pods that have to leave
		for n := range 5 {
			name := fmt.Sprint("n", n)
			c.ObserveNode(at(0), inZone(name, "east"))
			for p := range 3 {
				pod := newPod(fmt.Sprint(name, p), on(name))
				left[pod.UID] = pod
				c.pod(0, pod)
			}
		}
		c.MarkSynced()
		for n := range 5 {
			c.ObserveNode(at(1), inZone(fmt.Sprint("n", n), "east", "x@1"))
		}
		leaving := map[types.UID]float64{} // until when each counts
		var flying []eviction.Task
		for now := 2.0; len(left) > 0; now += float64(random.IntN(8)) {
			require.Less(t, now, 1e5, "seed %d: %d pods never leave", seed, len(left))
			for task, ok := c.Start(at(now)); ok; task, ok = c.Start(at(now)) {
				flying = append(flying, task)
				leaving[task.Pod.UID] = 1e9
			}
			nodes := map[string]bool{}
			for uid, until := range leaving {
				if until > now {
					nodes[left[uid].Spec.NodeName] = true
				}
			}
			require.LessOrEqual(t, len(nodes), most, "seed %d at %v: %v", seed, now, leaving)
			for uid, until := range leaving {
				pod := left[uid]
				if until < 1e9 && random.IntN(3) == 0 && pod.Spec.NodeName != "n3" { // that is dead
					c.ForgetPod(at(now), uid)
					delete(leaving, uid)
					delete(left, uid)
				} else if until < 1e9 && until <= now && pod.Spec.NodeName == "n3" {
					delete(leaving, uid)
					delete(left, uid)
				}
			}
			for i, task := range slices.Backward(flying) {
				uid := task.Pod.UID
				if random.IntN(2) == 0 {
					continue
				}
				flying = slices.Delete(flying, i, i+1)
				if random.IntN(4) == 0 {
					c.Finish(at(now), task, eviction.Result{Outcome: eviction.OutcomeFailed})
					delete(leaving, uid)
					continue
				}
				pod := left[uid].DeepCopy()
				going(now + 30)(pod)
				left[uid], leaving[uid] = pod, now+30+60
				watchFirst := random.IntN(2) == 0
				if watchFirst {
					c.pod(now, pod)
				}
				c.Finish(at(now), task, eviction.Result{Outcome: eviction.OutcomeEvicted})
				if !watchFirst {
					c.pod(now, pod)
				}
			}
		}
	}
}

func TestQ14MostAtATimeIsChecked(t *testing.T) {
	both := oneNodeAtATime()
	both.MaxPods = 1
	_, err := eviction.NewTracker(eviction.Config{
		Budgets: []eviction.Budget{both, {Name: "less", Limit: 1, MaxNodes: -1}}, MostTerminating: -1,
	}, at(0))
	require.ErrorIs(t, err, eviction.ErrInvalidConfig)
	require.ErrorContains(t, err, `budget "zone": MaxPods and MaxNodes are set, want one of them at most`)
	require.ErrorContains(t, err, `budget "less": MaxPods is 0 and MaxNodes is -1, want zero or more`)
	require.ErrorContains(t, err, "MostTerminating is -1ns, want zero or more")
}
