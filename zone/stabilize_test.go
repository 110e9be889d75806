package zone_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/zone"
)

// Z7: lists that take two minutes do not use up the stabilization window.
func TestZ7StabilizeBeginsTheWindowAgain(t *testing.T) {
	tracker := newCluster(t, zone.Config{StabilizationWindow: time.Minute})
	tracker.Observe(after(0), "n", zone.Node{Zone: "a", Ready: true})
	tracker.Stabilize(after(2 * time.Minute))
	require.Equal(t, zone.PhaseRecovering, tracker.Evaluate(after(2*time.Minute)).Phase)
	next, ok := tracker.Next(after(2 * time.Minute))
	require.True(t, ok)
	require.Equal(t, after(3*time.Minute), next)
	require.Equal(t, zone.PhaseRecovering, tracker.Evaluate(after(3*time.Minute-1)).Phase)
	require.Equal(t, zone.PhaseActive, tracker.Evaluate(after(3*time.Minute)).Phase)
}

// Z7: a standby that takes over acts against no node for a window.
func TestZ7StabilizeEndsActing(t *testing.T) {
	tracker := newCluster(t, zone.Config{StabilizationWindow: time.Minute})
	tracker.Observe(after(0), "n", zone.Node{Zone: "a", Ready: true})
	require.Equal(t, zone.PhaseActive, tracker.Evaluate(after(time.Hour)).Phase)
	tracker.Stabilize(after(time.Hour))
	e := tracker.Evaluate(after(time.Hour))
	require.Equal(t, zone.PhaseRecovering, e.Phase)
	require.Equal(t, zone.PhaseActive, e.From)
	require.Len(t, e.Changes, 1)
	require.Zero(t, e.Changes[0].Rate)
	require.False(t, tracker.Evaluate(after(time.Hour)).Changed())
	e = tracker.Evaluate(after(time.Hour + time.Minute))
	require.Equal(t, zone.PhaseActive, e.Phase)
	require.Equal(t, zone.DefaultRates().Normal, e.Changes[0].Rate)
}

// A suspension is stronger: its own window begins when it ends.
func TestZ7StabilizeDoesNotEndASuspension(t *testing.T) {
	tracker := newCluster(t, zone.Config{StabilizationWindow: time.Minute})
	tracker.Observe(after(0), "n", zone.Node{Zone: "a"})
	require.Equal(t, zone.PhaseSuspended, tracker.Evaluate(after(0)).Phase)
	tracker.Stabilize(after(time.Second))
	require.Equal(t, zone.PhaseSuspended, tracker.Evaluate(after(time.Second)).Phase)
	require.Equal(t, zone.PhaseSuspended, tracker.Evaluate(after(time.Hour)).Phase)
	tracker.Observe(after(time.Hour), "n", zone.Node{Zone: "a", Ready: true})
	require.Equal(t, zone.PhaseRecovering, tracker.Evaluate(after(time.Hour)).Phase)
	require.Equal(t, zone.PhaseRecovering, tracker.Evaluate(after(time.Hour+time.Minute-1)).Phase)
	require.Equal(t, zone.PhaseActive, tracker.Evaluate(after(time.Hour+time.Minute)).Phase)
}
