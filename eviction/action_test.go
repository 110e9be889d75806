package eviction_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
)

// said returns an action that only says its name into out.
func said(out *[]string, name string) eviction.Action {
	return func(context.Context, eviction.Task) eviction.Result {
		*out = append(*out, name)
		return eviction.Result{Outcome: eviction.OutcomeBlocked}
	}
}

// demand.md, PDB ignored: evict for half an hour, then delete.
func TestE7EvictThenDeleteEvictsForAWhileAndDeletesThen(t *testing.T) {
	play(t, sceneOptions{evict: true}, func(s *scene) {
		s.protected = func(*corev1.Pod) bool { return true }
		s.act = eviction.EvictThenDelete(s.evict.Act, s.delete.Act, 30*time.Minute)
		due, asked := s.work.Decision.Due, 0
		for s.work.StartedAt.Sub(due) < 30*time.Minute {
			s.fails(s.acts(eviction.OutcomeBlocked, "evict"))
			asked++
		}
		require.Greater(s, asked, 30)
		require.Less(s, s.work.StartedAt.Sub(due), 31*time.Minute)
		s.acts(eviction.OutcomeEvicted, "patch", "delete")
	})
}

// The half hour goes on over a restart, also for a pod that tolerates nothing
// and whose deadline is when it was seen.
func TestE7EvictThenDeleteGoesOnOverARestart(t *testing.T) {
	for name, test := range map[string]struct {
		node *corev1.Node
		pod  *corev1.Pod
		want []string // done at 100 s, 109 s and 112 s
	}{
		"tolerated for a while": {newNode("n1", "a@-100"), newPod("p", tolerates("a:150")),
			[]string{"first", "first", "then"}},
		"not tolerated": {newNode("n1", "a@50"), newPod("p"), []string{"first", "first", "then"}},
		"bound after the taint": {newNode("n1", "a@-100"), newPod("p", bound(50)),
			[]string{"first", "first", "then"}},
		"without a stored time": {newNode("n1", "a"), newPod("p"), []string{"first", "first", "first"}},
	} {
		t.Run(name, func(t *testing.T) {
			var did []string
			act := eviction.EvictThenDelete(said(&did, "first"), said(&did, "then"), time.Minute)
			for _, restarted := range []float64{100, 110.9, 112} {
				c := startUp(t, restarted)
				c.ObserveNode(at(restarted), test.node)
				c.pod(restarted, test.pod)
				c.MarkSynced()
				act(t.Context(), c.start(restarted, "p")[0])
			}
			require.Equal(t, test.want, did)
		})
	}
}

func TestE7EvictThenDeleteAfterNoTimeIsTheOtherAction(t *testing.T) {
	var did []string
	c := running(t, newPod("p"))
	c.node(10, "n1", "a@10")
	eviction.EvictThenDelete(said(&did, "first"), said(&did, "then"), 0)(t.Context(),
		c.start(10, "p")[0])
	require.Equal(t, []string{"then"}, did)
}

// A time that depends on the task: an action is made for each.
func TestE7EvictThenDeleteTimeMayDependOnTheTask(t *testing.T) {
	var did []string
	patience := map[string]time.Duration{"batch": time.Hour, "web": time.Minute}
	act := func(ctx context.Context, task eviction.Task) eviction.Result {
		first, then := said(&did, task.Pod.Name+" first"), said(&did, task.Pod.Name+" then")
		return eviction.EvictThenDelete(first, then, patience[task.Pod.Namespace])(ctx, task)
	}
	c := running(t, newPod("p", inNamespace("batch")), newPod("q", inNamespace("web")))
	c.node(10, "n1", "a@10")
	for _, task := range c.start(100, "p", "q") {
		act(t.Context(), task)
	}
	require.ElementsMatch(t, []string{"p first", "q then"}, did)
}

// What a dry run reports it reports at the pace of the budgets. A list of all
// that have to leave spends none of them.
func TestE7ListingSpendsNoBudget(t *testing.T) {
	c := runningWith(t, budgets(overall(0.001, 1)), newPod("p"), newPod("q"), newPod("r"))
	c.node(10, "n1", "a@10")
	for range 10 {
		listed := 0
		for p := range c.Pending() {
			require.True(t, p.Decision.DueAt(at(20)))
			listed++
		}
		require.Equal(t, 3, listed)
	}
	c.finish(20, c.start(20, "p")[0], eviction.OutcomeDryRun)
	c.start(30)
}
