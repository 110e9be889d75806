package rollout_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/timedqueue"
)

// D5: a plan knows its owner, and is carried out for no other.
func TestD5PlanOfAnotherOwnerIsNotCarriedOut(t *testing.T) {
	s := newSet(t, func(c *rollout.Config) { c.Owner = agents().Object.GetUID() }).nodes("a")
	plan := s.Plan(s.now)
	require.Equal(t, string(agents().Object.GetUID()), plan.Owner)

	another := agents()
	another.Object.SetUID("made-again")
	server := newPodServer()
	results, err := execute(t.Context(), newExecutor(t, server), another, plan)
	require.ErrorIs(t, err, rollout.ErrOtherOwner)
	require.Len(t, results, 1)
	require.True(t, results[0].Refused)
	require.Empty(t, server.calls)

	results, err = execute(t.Context(), newExecutor(t, server), agents(), plan)
	require.NoError(t, err)
	require.NotNil(t, results[0].Pod)
}

// D5: nor for an owner under deletion, whose pods are the garbage collector's.
func TestD5PlanOfAnOwnerUnderDeletionIsNotCarriedOut(t *testing.T) {
	s := newSet(t).nodes("a").unfit("b").running("b")
	going := agents()
	going.Object.SetDeletionTimestamp(&metav1.Time{Time: start})
	server := newPodServer()
	results, err := execute(t.Context(), newExecutor(t, server), going, s.Plan(s.now))
	require.ErrorIs(t, err, ownership.ErrOwnerGone)
	require.Len(t, results, 2)
	require.True(t, results[0].Refused && results[1].Refused)
	require.Empty(t, server.calls)
}

// D5: a Dispatcher drives a planner. Each step is reported as it ends, and its
// workers bound the calls.
func TestD5ADispatcherDrivesAPlanner(t *testing.T) {
	for _, workers := range []int{1, 7, 32} {
		synctest.Test(t, func(t *testing.T) {
			server := newPodServer()
			spec := specWith(&corev1.PodTemplateSpec{})
			slow := newPod(t, spec, rollout.Creation{Node: "n100", Revision: spec.Revision}).Name
			server.before = func(ctx context.Context, verb, name string) error {
				if name == slow {
					return pause(30*time.Second)(ctx, verb, name)
				}
				return pause(100*time.Millisecond)(ctx, verb, name)
			}
			planner, err := rollout.NewPlanner(rollout.Config{Spec: *spec}, time.Now())
			require.NoError(t, err)
			executor := newExecutor(t, server)
			dispatcher, err := timedqueue.NewDispatcher(
				planner,
				func(ctx context.Context, task rollout.Task) rollout.Result {
					return executor.Act(ctx, agents(), task)
				},
				timedqueue.DispatcherConfig{Workers: workers},
			)
			require.NoError(t, err)
			dispatcher.Update(func() {
				for i := range 200 {
					planner.ObserveNode(time.Now(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{
						Name: fmt.Sprintf("n%03d", i),
					}})
				}
			})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			done := make(chan error, 1)
			go func() { done <- dispatcher.Run(ctx) }()
			time.Sleep(29 * time.Second)
			synctest.Wait()
			if workers > 1 {
				require.Equal(t, 199, server.made, "the slow one delays no other")
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, 200, server.made)
			require.Equal(t, workers, server.most)
			current := 0
			dispatcher.View(func() { current = statusOf(planner).Current })
			require.Equal(t, 200, current)
			stop()
			require.NoError(t, <-done)
		})
	}
}

// Q11: the zero Result, which an action that panics has, is a failure after
// which the step may have been done. So is an error, and an outcome that does
// not exist.
func TestQ11ZeroResultIsAFailureOfUnknownEffect(t *testing.T) {
	for name, result := range map[string]rollout.Result{
		"zero": {}, "unheard of": {Outcome: "Unheard"},
		"done, with an error": {Outcome: rollout.OutcomeDone, Err: errRefused},
		"gone, with an error": {Outcome: rollout.OutcomeGone, Err: errRefused},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSet(t).nodes("a", "b").pod("x", "b", "former", unready)
			steps := s.Plan(s.now)
			require.Equal(t, "create on a: Missing\ndelete x: OutdatedUnavailable", listed(steps))
			s.Finish(s.now, rollout.Task{Create: &steps.Create[0]}, result)
			s.Finish(s.now, rollout.Task{Delete: &steps.Delete[0]}, result)
			s.wantWait("a", rollout.WaitRefused).wantWait("b", rollout.WaitRefused)
			again := s.after(time.Second).Plan(s.now)
			require.Equal(t, "create on a: Missing\ndelete x: OutdatedUnavailable", listed(again), "they are sent again")
			require.Zero(t, again.Create[0].Attempt, "under the same name")
			s.Finish(s.now, rollout.Task{Delete: &again.Delete[0]}, rollout.Result{Outcome: rollout.OutcomeDone})
			again = s.after(30 * time.Second).Plan(s.now)
			require.Equal(t, "refresh x", listed(again))
			s.Finish(s.now, rollout.Task{Refresh: &again.Refresh[0]}, result)
			again = s.after(30 * time.Second).Plan(s.now)
			require.Equal(t, "refresh x", listed(again), "x is taken to be there")
		})
	}
}
