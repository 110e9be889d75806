package rollout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

// C7: while a planner is halted it deletes nothing, creates what is missing,
// and waits for no time. What was held is handed out at once after Resume.
func TestC7HaltedPlannerDeletesNothing(t *testing.T) {
	s := newSet(t).nodes("a", "b", "c").running("a", "b", "c").unfit("c")
	s.Halt(s.now)
	s.Halt(s.now)
	s.template("new").nodes("d").want("create on d: Missing").change("d-new-2", available)
	s.pod("e", "d", "new", phase(corev1.PodFailed))
	s.want("").wantWait("c", rollout.WaitHalted).wantWait("a", rollout.WaitHalted)
	_, more := s.Next(s.now)
	require.False(t, more, "only Resume makes a difference")
	s.after(time.Hour).want("")
	s.Resume(s.now)
	s.want("delete e: PodFailed", "delete c-1: Misscheduled", "delete a-1: Outdated")
}

// C7: a rollout with maxSurge creates new pods, and old ones stay next to them.
func TestC7HaltedRolloutGoesOnAsFarAsItDeletesNothing(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").rollout(surge(1)).template("new")
	s.Halt(s.now)
	s.want("create on a: Surging").change("a-new-2", available)
	s.want("").wantWait("a", rollout.WaitHalted).wantWait("b", rollout.WaitLimited)
	s.Resume(s.now)
	s.want("delete a-1: Replaced")
}

// C7: a halt in the middle of a node's deletions holds the others, and neither
// forgets nor hastens a back-off that has begun before.
func TestC7HaltKeepsBackOffsThatHaveBegun(t *testing.T) {
	s := newSet(t).unfit("a")
	for _, pod := range []string{"x", "y"} {
		s.pod(pod, "a", "old", available)
	}
	task, ok := s.Start(s.now)
	require.True(t, ok)
	require.NotNil(t, task.Delete)
	s.Halt(s.now)
	s.want("")
	s.Finish(s.now, task, rollout.Result{Outcome: rollout.OutcomeRefused, Err: errRefused})
	s.want("")
	s.Resume(s.now)
	s.want("").wantWait("a", rollout.WaitRefused)
	until, more := s.Next(s.now)
	require.True(t, more)
	require.Positive(t, until.Sub(s.now))
	s.after(until.Sub(s.now))
	require.NotEmpty(t, s.Plan(s.now).Delete)
}

// C7: so do creations. One that was refused during the halt is tried again as
// ever, and Resume changes nothing about it.
func TestC7HaltLeavesCreationsAlone(t *testing.T) {
	retries := func(halt bool) []time.Duration {
		s := newSet(t).nodes("a")
		if halt {
			s.Halt(s.now)
		}
		var after []time.Duration
		for tries := 0; tries < 6; {
			plan := s.Plan(s.now)
			for i := range plan.Create {
				tries++
				s.Report(s.now, ended{Create: &plan.Create[i], Err: errRefused, Refused: true})
			}
			next, more := s.Next(s.now)
			require.True(t, more)
			after = append(after, next.Sub(s.now))
			s.after(next.Sub(s.now))
			if halt {
				s.Resume(s.now)
				s.Halt(s.now)
			}
		}
		return after
	}
	require.Equal(t, retries(false), retries(true))
}
