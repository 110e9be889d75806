package zone_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/zone"
)

// disrupted returns an active cluster whose zone a has two of five nodes ready,
// and so the rate zero. Zone b is well.
func disrupted(t *testing.T, config zone.Config) *cluster {
	t.Helper()
	c := newActiveCluster(t, config)
	c.ready("a", names("a", 5)...)
	c.ready("b", names("b", 5)...)
	c.evaluate()
	c.notReady("a", names("a", 3)...)
	c.evaluate()
	require.Equal(t, zone.Status{Zone: "a", State: zone.PartialDisruption,
		Counts: zone.Counts{Ready: 2, NotReady: 3}}, c.status(t, "a"))
	c.pass(time.Hour)
	return c
}

// rateOfA evaluates the zones and returns the rate of zone a.
func (c *cluster) rateOfA(t *testing.T) float64 {
	t.Helper()
	c.evaluate()
	return c.status(t, "a").Rate
}

// Z8: nodes that return together are heard over a heartbeat interval. Upstream
// acts against those that were not heard yet, at once.
func TestZ8AZoneKeepsItsRateForAWindowWhenItsDisruptionEnds(t *testing.T) {
	c := disrupted(t, zone.Config{})
	c.ready("a", "a0")
	end := c.now.Add(interval)
	require.Equal(t, []zone.Change{{Zone: "a", From: zone.PartialDisruption, To: zone.Normal,
		Counts: zone.Counts{Ready: 3, NotReady: 2}}}, c.evaluate().Changes)
	require.Equal(t, zone.Status{Zone: "a", State: zone.Normal,
		Counts: zone.Counts{Ready: 3, NotReady: 2}, HeldUntil: end}, c.status(t, "a"))
	next, ok := c.Next(c.now)
	require.True(t, ok)
	require.Equal(t, end, next)

	c.pass(interval - 1)
	require.False(t, c.evaluate().Changed())
	c.pass(1)
	require.Equal(t, []zone.Change{{Zone: "a", From: zone.Normal, To: zone.Normal,
		Counts: zone.Counts{Ready: 3, NotReady: 2}, Rate: 0.1}}, c.evaluate().Changes)
	require.Zero(t, c.status(t, "a").HeldUntil)
	_, ok = c.Next(c.now)
	require.False(t, ok)
}

// Nodes that return later than the first ones do not begin the window again.
func TestZ8FurtherNodesDoNotLengthenTheWindow(t *testing.T) {
	c := disrupted(t, zone.Config{})
	c.ready("a", "a0")
	c.evaluate()
	c.pass(interval / 2)
	c.ready("a", "a1")
	c.evaluate()
	c.pass(interval / 2)
	require.Equal(t, 0.1, c.rateOfA(t))
}

func TestZ8ARateFallsAtOnce(t *testing.T) {
	c := disrupted(t, zone.Config{})
	c.ready("a", "a0")
	c.evaluate()
	c.pass(interval)
	require.Equal(t, 0.1, c.rateOfA(t))
	c.notReady("a", "a0")
	require.Zero(t, c.rateOfA(t))
}

// Only a zone that gets better has nodes that return.
func TestZ8AZoneThatGetsWorseHasItsRateAtOnce(t *testing.T) {
	c := disrupted(t, zone.Config{})
	c.notReady("a", "a3", "a4")
	require.Equal(t, 0.1, c.rateOfA(t))
	require.Equal(t, zone.FullDisruption, c.status(t, "a").State)
}

// No disruption is known before the first evaluation, and the stabilization
// window has passed after it.
func TestZ8ANewZoneHasItsRateAtOnce(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.notReady("a", names("a", 3)...)
	c.ready("a", "a3", "a4", "a5")
	require.Equal(t, 0.1, c.rateOfA(t))
}

// Suspicions that are refuted are no disruption: no node was lost.
func TestZ8NodesThatAreOnlySuspectedHoldNothing(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.ready("a", names("a", 5)...)
	c.evaluate()
	for _, node := range names("a", 3) {
		c.Observe(c.now, node, zone.Node{Zone: "a", Unconfirmed: true})
	}
	require.Zero(t, c.rateOfA(t))
	c.ready("a", "a0")
	require.Equal(t, 0.1, c.rateOfA(t))
}

// The window passes while the cluster is not active, too.
func TestZ8AStabilizationWindowCoversTheOtherOne(t *testing.T) {
	c := disrupted(t, zone.Config{})
	c.Stabilize(c.now)
	c.evaluate()
	c.pass(grace - interval)
	c.ready("a", "a0")
	c.evaluate()
	require.Zero(t, c.status(t, "a").HeldUntil, "it has no rate anyway")
	c.pass(interval)
	require.Equal(t, 0.1, c.rateOfA(t))
	require.Equal(t, zone.PhaseActive, c.Phase())
}

func TestZ8WithoutAnObservationWindowNothingIsHeld(t *testing.T) {
	c := disrupted(t, zone.Config{ObservationWindow: ptr.To(time.Duration(0))})
	c.ready("a", "a0")
	require.Equal(t, 0.1, c.rateOfA(t))
}

// A zone that is better for less than a window at a time must not keep its
// lower rate for ever: its dead nodes would never be acted against.
func TestZ8AZoneThatFlapsIsHeldForOneWindowOfItsBetterTime(t *testing.T) {
	c := disrupted(t, zone.Config{})
	better, atRate := time.Duration(0), time.Duration(0)
	for range 20 { // better for 4 s, and worse for a minute
		c.ready("a", "a0")
		for range 4 {
			if c.rateOfA(t) > 0 {
				atRate += time.Second
			}
			better += time.Second
			c.pass(time.Second)
			if better == interval {
				require.Zero(t, atRate, "one window of better time")
			}
		}
		c.notReady("a", "a0")
		require.Zero(t, c.rateOfA(t))
		c.pass(time.Minute)
	}
	require.Equal(t, better-interval, atRate, "it never had the rate for a window since")
}

// After one window with the higher rate, what ends is another disruption.
func TestZ8TheNextDisruptionIsHeldAgain(t *testing.T) {
	c := disrupted(t, zone.Config{})
	for _, test := range []struct {
		atRate time.Duration
		held   bool
	}{{interval, true}, {interval - 1, false}, {interval, true}} {
		c.ready("a", "a0")
		c.evaluate()
		if until := c.status(t, "a").HeldUntil; !until.IsZero() {
			c.now = until
		}
		require.Equal(t, 0.1, c.rateOfA(t))
		c.pass(test.atRate)
		c.notReady("a", "a0")
		require.Zero(t, c.rateOfA(t))
		c.ready("a", "a0")
		c.evaluate()
		require.Equal(t, test.held, !c.status(t, "a").HeldUntil.IsZero(), "%+v", test)
		c.notReady("a", "a0")
		c.evaluate()
	}
}
