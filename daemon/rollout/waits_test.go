package rollout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

func TestWaitForATerminatingPodHasNoEndOfItsOwn(t *testing.T) {
	s := newSet(t, func(c *rollout.Config) { c.Spec.MinReady = time.Minute }).nodes("a").running("a")
	s.change("a-1", terminating, readyFrom(start.Add(-time.Second)))
	wait := s.WaitOf("a")
	require.Equal(t, rollout.WaitTerminating, wait.Reason)
	require.Zero(t, wait.Until)
}

func TestWaitsStandsChangesWhileItIsRead(t *testing.T) {
	s := newSet(t).nodes("a", "b")
	require.NotPanics(t, func() {
		for range s.Waits() {
			s.ForgetNode(s.now, "b")
			s.Status()
		}
	})
}

// What the next plan will do does not wait for anything but that.
func TestNodeWhosePodIsMadeNextIsPlanned(t *testing.T) {
	s := newSet(t).nodes("a")
	require.Equal(t, rollout.WaitPlanned, s.WaitOf("a").Reason)
	require.Len(t, s.Plan(s.now).Create, 1)
	require.Equal(t, rollout.WaitUnderWay, s.WaitOf("a").Reason)
}
