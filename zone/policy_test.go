package zone_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/zone"
)

// pausedBelow pauses while less than the fraction least of all nodes is ready,
// and until the fraction resume is.
func pausedBelow(least, resume float64) func(zone.Cluster) zone.Phase {
	return func(c zone.Cluster) zone.Phase {
		if c.Counts.ReadyFraction() < least || c.Stopped && c.Counts.ReadyFraction() < resume {
			return zone.PhasePaused
		}
		return zone.DefaultPhase(c)
	}
}

func pausedWhileAZoneIsDown(c zone.Cluster) zone.Phase {
	if phase := zone.DefaultPhase(c); phase != zone.PhaseActive || c.FullyDisrupted == 0 {
		return phase
	}
	return zone.PhasePaused
}

func TestZ1WithoutAPolicyOnlyAllZonesSuspend(t *testing.T) {
	for want, clusters := range map[zone.Phase][]zone.Cluster{
		zone.PhaseActive: {
			{}, {Zones: 2}, {Zones: 2, PartiallyDisrupted: 2}, {Zones: 2, FullyDisrupted: 1},
			{Stopped: true},
		},
		zone.PhaseSuspended: {
			{Zones: 1, FullyDisrupted: 1}, {Zones: 3, FullyDisrupted: 3, Stopped: true},
		},
	} {
		for _, c := range clusters {
			require.Equal(t, want, zone.DefaultPhase(c), c)
		}
	}
}

// The policy is shown all zones in which nodes count, whatever has changed.
func TestZ1APolicySeesTheWholeCluster(t *testing.T) {
	var seen zone.Cluster
	c := newActiveCluster(t, zone.Config{Phase: func(c zone.Cluster) zone.Phase {
		seen = c
		return zone.PhaseActive
	}})
	c.ready("a", names("a", 4)...)
	c.ready("b", names("b", 3)...)
	c.notReady("b", "b3", "b4", "b5", "b6")
	c.notReady("c", "c0", "c1")
	c.Observe(c.now, "d0", zone.Node{Zone: "d", Excluded: true})
	c.evaluate()
	require.Equal(t, zone.Cluster{
		Counts: zone.Counts{Ready: 7, NotReady: 6}, Zones: 3, PartiallyDisrupted: 1, FullyDisrupted: 1,
	}, seen)

	c.ready("b", "b3") // the others have not changed
	c.evaluate()
	require.Equal(t, zone.Cluster{
		Counts: zone.Counts{Ready: 8, NotReady: 5}, Zones: 3, FullyDisrupted: 1,
	}, seen)

	c.forget("c0", "c1")
	c.ready("e", "b3") // it moves
	c.evaluate()
	require.Equal(t, zone.Cluster{Counts: zone.Counts{Ready: 8, NotReady: 3}, Zones: 3}, seen)

	c.forget(append(names("a", 4), names("b", 7)...)...)
	c.evaluate()
	require.Equal(t, zone.Cluster{}, seen, "d0 does not count")
}

// No action while any zone is fully disrupted, and not before a grace period
// after that.
func TestZ1AZoneThatIsDownPausesTheCluster(t *testing.T) {
	c := newActiveCluster(t, zone.Config{Phase: pausedWhileAZoneIsDown})
	c.ready("a", "a0", "a1")
	c.ready("b", names("b", 10)...)
	c.notReady("b", "b9")
	c.evaluate()
	require.Equal(t, map[string]float64{"a": 0.1, "b": 0.1}, c.rates())

	c.notReady("a", "a0", "a1")
	e := c.evaluate()
	require.Equal(t, zone.PhasePaused, e.Phase)
	require.Equal(t, zone.PhaseActive, e.From)
	require.Equal(t, map[string]float64{"a": 0, "b": 0}, c.rates())
	_, waits := c.Next(c.now)
	require.False(t, waits)

	c.pass(time.Hour)
	c.ready("a", "a0")
	require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
	next, _ := c.Next(c.now)
	require.Equal(t, c.now.Add(grace), next)
	c.now = next
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase)
	require.Equal(t, map[string]float64{"a": 0.1, "b": 0.1}, c.rates())
}

// A pause does not replace the suspension, and both end with one window.
func TestZ1APauseAndASuspensionFollowEachOther(t *testing.T) {
	c := newActiveCluster(t, zone.Config{Phase: pausedWhileAZoneIsDown})
	c.ready("a", "a0")
	c.ready("b", "b0")
	c.evaluate()
	for _, step := range []struct {
		a, b bool
		want zone.Phase
	}{
		{false, true, zone.PhasePaused}, {false, false, zone.PhaseSuspended},
		{true, false, zone.PhasePaused}, {true, true, zone.PhaseRecovering},
	} {
		c.pass(grace)
		c.Observe(c.now, "a0", zone.Node{Zone: "a", Ready: step.a})
		c.Observe(c.now, "b0", zone.Node{Zone: "b", Ready: step.b})
		require.Equal(t, step.want, c.evaluate().Phase)
	}
	c.pass(grace - 1)
	require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
	c.pass(1)
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase)
}

// Storm recovery: it resumes when more are ready than it takes to go on, and
// have been for the whole window.
func TestZ1AStormEndsAfterAnExitDelay(t *testing.T) {
	c := newActiveCluster(t, zone.Config{
		Phase: pausedBelow(0.6, 0.8), StabilizationWindow: 5 * time.Minute,
	})
	c.ready("a", names("a", 100)...)
	c.evaluate()
	have := func(ready int, want zone.Phase) {
		t.Helper()
		c.ready("a", names("a", 100)[:ready]...)
		c.notReady("a", names("a", 100)[ready:]...)
		require.Equal(t, want, c.evaluate().Phase, "%d of 100 are ready", ready)
	}
	have(79, zone.PhaseActive)
	have(60, zone.PhaseActive)
	have(59, zone.PhasePaused)
	have(60, zone.PhasePaused)
	have(79, zone.PhasePaused)
	have(80, zone.PhaseRecovering)
	c.pass(4 * time.Minute)
	have(79, zone.PhasePaused)
	have(80, zone.PhaseRecovering)
	c.pass(5*time.Minute - 1)
	have(81, zone.PhaseRecovering)
	c.pass(1)
	have(80, zone.PhaseActive)
	have(79, zone.PhaseActive)
}

// A start cannot know whether a storm has just ended. A takeover can, because
// the tracker of a standby has observed the storm.
func TestZ1AStartAsksForWhatItTakesToResume(t *testing.T) {
	c := newCluster(t, zone.Config{Phase: pausedBelow(0.6, 0.8)})
	c.ready("a", names("a", 7)...)
	c.notReady("a", "a7", "a8", "a9")
	require.Equal(t, zone.PhasePaused, c.evaluate().Phase)
	c.ready("a", "a7")
	c.evaluate()
	c.pass(grace)
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase)

	c.notReady("a", "a7")
	c.Stabilize(c.now)
	require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
	c.pass(grace)
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase)
}

// A pause that depends on unconfirmed nodes holds, and costs no window if it
// was a false alarm.
func TestZ1AndZ6UnconfirmedNodesHoldAndDoNotPause(t *testing.T) {
	c := newActiveCluster(t, zone.Config{Phase: pausedBelow(0.6, 0.8)})
	c.ready("a", names("a", 10)...)
	c.notReady("a", "a9", "a8", "a7")
	c.evaluate()
	c.Observe(c.now, "a6", unconfirmed("a"))
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase, "6 of 10 are enough")
	c.Observe(c.now, "a5", unconfirmed("a"))
	require.Equal(t, zone.PhaseHolding, c.evaluate().Phase)
	c.ready("a", "a5")
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase, "7 of 10 would not be enough to resume")

	c.Observe(c.now, "a5", unconfirmed("a"))
	c.evaluate()
	c.notReady("a", "a5", "a6")
	require.Equal(t, zone.PhasePaused, c.evaluate().Phase)
	c.Observe(c.now, "a4", unconfirmed("a"))
	c.evaluate()
	require.Equal(t, zone.PhasePaused, c.Phase(), "whatever a4 is")
}

func TestZ1WhatIsNoPhaseOfAPolicyPauses(t *testing.T) {
	for _, phase := range []zone.Phase{"", "active", zone.PhaseHolding, zone.PhaseRecovering} {
		c := newCluster(t, zone.Config{Phase: func(zone.Cluster) zone.Phase { return phase }})
		c.ready("a", "a0")
		require.Equal(t, zone.PhasePaused, c.evaluate().Phase, phase)
	}
}

func TestZ1TheReadyFraction(t *testing.T) {
	require.InDelta(t, 0.75, zone.Counts{Ready: 3, NotReady: 1}.ReadyFraction(), 0)
	require.InDelta(t, 0.25, zone.Counts{Ready: 1, NotReady: 1, Unconfirmed: 2}.ReadyFraction(), 0)
	require.InDelta(t, 1, zone.Counts{}.ReadyFraction(), 0, "no node is missing")
}
