package zone_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/zone"
)

func unconfirmed(in string) zone.Node { return zone.Node{Zone: in, Unconfirmed: true} }

func TestZ6AnUnconfirmedNodeThatMakesNoDifferenceHoldsNothing(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.ready("a", names("a", 10)...)
	c.evaluate()
	c.Observe(c.now, "a0", unconfirmed("a"))
	require.False(t, c.evaluate().Changed())
	require.Equal(t, []zone.Status{{
		Zone: "a", State: zone.Normal, Counts: zone.Counts{Ready: 9, Unconfirmed: 1}, Rate: 0.1,
	}}, c.Zones())
}

func TestZ6AZoneWhoseStateDependsOnUnconfirmedNodesHasNoRate(t *testing.T) {
	for name, settled := range map[string]struct {
		node zone.Node
		want zone.Status
	}{
		"not ready": {zone.Node{Zone: "a"}, zone.Status{
			Zone: "a", State: zone.PartialDisruption, Counts: zone.Counts{Ready: 40, NotReady: 60},
			Rate: 0.01,
		}},
		"ready": {zone.Node{Zone: "a", Ready: true}, zone.Status{
			Zone: "a", State: zone.Normal, Counts: zone.Counts{Ready: 50, NotReady: 50}, Rate: 0.1,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newActiveCluster(t, zone.Config{})
			c.ready("a", names("a", 100)...)
			c.notReady("a", names("a", 50)...)
			c.evaluate()
			for _, node := range names("a", 60)[50:] {
				c.Observe(c.now, node, unconfirmed("a"))
			}
			require.Equal(t, []zone.Change{{
				Zone: "a", From: zone.Normal, To: zone.Normal,
				Counts: zone.Counts{Ready: 40, NotReady: 50, Unconfirmed: 10},
			}}, c.evaluate().Changes, "60 of 100 would be a partial disruption")

			for _, node := range names("a", 60)[50:] {
				c.Observe(c.now, node, settled.node)
			}
			c.evaluate()
			require.Equal(t, []zone.Status{settled.want}, c.Zones())
		})
	}
}

func TestZ6UnconfirmedNodesHoldTheClusterAndDoNotSuspendIt(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.ready("a", "a0", "a1")
	c.ready("b", "b0")
	c.evaluate()

	c.notReady("b", "b0")
	c.notReady("a", "a1")
	c.Observe(c.now, "a0", unconfirmed("a"))
	require.Equal(t, zone.PhaseHolding, c.evaluate().Phase)
	for _, status := range c.Zones() {
		require.Zero(t, status.Rate, status.Zone)
	}

	c.ready("a", "a0")
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase, "a false alarm costs no window")

	c.Observe(c.now, "a0", unconfirmed("a"))
	c.evaluate()
	c.notReady("a", "a0")
	require.Equal(t, zone.PhaseSuspended, c.evaluate().Phase)
}

func TestZ6AHoldDoesNotShortenAWindow(t *testing.T) {
	c := newActiveCluster(t, zone.Config{StabilizationWindow: time.Minute})
	c.ready("a", "a0")
	c.evaluate()
	c.notReady("a", "a0")
	require.Equal(t, zone.PhaseSuspended, c.evaluate().Phase)
	c.ready("a", "a0")
	require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
	end, _ := c.Next(c.now)

	c.Observe(c.now, "a0", unconfirmed("a"))
	require.Equal(t, zone.PhaseHolding, c.evaluate().Phase)
	_, waits := c.Next(c.now)
	require.False(t, waits, "only what is observed ends a hold")
	c.ready("a", "a0")
	require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
	next, _ := c.Next(c.now)
	require.Equal(t, end, next)
}

// A node is not ready from its expiry on. Its confirmation is no second fall.
func TestZ6ANodeWaitsFromItsExpiryOn(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.ready("a", "a0", "a1")
	c.Observe(c.now, "a0", unconfirmed("a"))
	before := c.NotBefore("a0")
	require.Equal(t, c.now.Add(11*time.Second), before)
	c.now = c.now.Add(time.Minute)
	c.notReady("a", "a0")
	require.Equal(t, before, c.NotBefore("a0"))
}

// A node that was ready before the controller could not hear may not be now.
// The first one that is heard again shows that not all zones are down.
func TestZ6NodesThatWereReadyBeforeBlindnessAreUnconfirmedUntilTheyAreHeard(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.ready("a", "a0", "a1", "a2")
	c.ready("b", "b0")
	c.notReady("a", "a0")
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase)

	c.Unconfirm(c.now, c.now)
	require.Equal(t, zone.PhaseHolding, c.evaluate().Phase)
	require.Equal(t, []zone.Status{
		{Zone: "a", State: zone.Normal, Counts: zone.Counts{NotReady: 1, Unconfirmed: 2}},
		{Zone: "b", State: zone.Normal, Counts: zone.Counts{Unconfirmed: 1}},
	}, c.Zones())

	c.ready("b", "b0")
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase, "not all zones are down")
	require.Equal(t, []zone.Status{
		{Zone: "a", State: zone.Normal, Counts: zone.Counts{NotReady: 1, Unconfirmed: 2}},
		{Zone: "b", State: zone.Normal, Counts: zone.Counts{Ready: 1}, Rate: 0.1},
	}, c.Zones(), "zone a may be down")

	c.ready("a", "a1")
	c.evaluate()
	require.Equal(t, 0.1, c.Zones()[0].Rate, "one of three that may not be ready makes no difference")
}

// That a node was ready before is no fall. The wave begins when it is found
// silent.
func TestZ6BlindnessIsNoFall(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.ready("a", "a0", "a1")
	c.Unconfirm(c.now, c.now)
	require.Zero(t, c.NotBefore("a0"))
	c.Observe(c.now, "a0", zone.Node{Zone: "a", Ready: true, Unconfirmed: true})
	require.Zero(t, c.NotBefore("a0"))
	c.now = c.now.Add(time.Minute)
	c.Observe(c.now, "a0", unconfirmed("a"))
	require.Equal(t, c.now.Add(11*time.Second), c.NotBefore("a0"))
}

// A window is not over because time passed in which no node could be heard.
func TestZ3AWindowThatEndsInBlindnessBeginsAgain(t *testing.T) {
	for name, lasts := range map[string]time.Duration{
		"ended meanwhile": 5 * time.Minute, "goes on": 10 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			c := newActiveCluster(t, zone.Config{StabilizationWindow: time.Minute})
			c.notReady("a", "a0")
			c.evaluate()
			c.ready("a", "a0")
			require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
			lost := c.now
			c.now = c.now.Add(lasts)
			c.evaluate()
			c.Unconfirm(c.now, lost)
			c.ready("a", "a0")
			require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
			next, _ := c.Next(c.now)
			require.Equal(t, c.now.Add(time.Minute), next)

			c.now = next
			require.Equal(t, zone.PhaseActive, c.evaluate().Phase)
			c.Unconfirm(c.now.Add(time.Minute), c.now)
			c.ready("a", "a0")
			require.Equal(t, zone.PhaseActive, c.evaluate().Phase, "it was over before")
		})
	}
}
