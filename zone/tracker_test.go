package zone_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/zone"
)

func TestZ2TheFirstEvaluationOfAZoneIsFromInitial(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.ready("b", "b0")
	c.notReady("a", "a0")
	require.Equal(t, []zone.Status{
		{Zone: "a", State: zone.Initial, Counts: zone.Counts{NotReady: 1}},
		{Zone: "b", State: zone.Initial, Counts: zone.Counts{Ready: 1}},
	}, c.Zones(), "not evaluated yet")

	require.Equal(t, zone.Evaluation{Phase: zone.PhaseActive, From: zone.PhaseActive,
		Changes: []zone.Change{
			{Zone: "a", From: zone.Initial, To: zone.FullDisruption,
				Counts: zone.Counts{NotReady: 1}, Rate: 0.1},
			{Zone: "b", From: zone.Initial, To: zone.Normal, Counts: zone.Counts{Ready: 1}, Rate: 0.1},
		}}, c.evaluate())
	require.Equal(t, []zone.Status{
		{Zone: "a", State: zone.FullDisruption, Counts: zone.Counts{NotReady: 1}, Rate: 0.1},
		{Zone: "b", State: zone.Normal, Counts: zone.Counts{Ready: 1}, Rate: 0.1},
	}, c.Zones())
	for _, status := range c.Zones() {
		one, known := c.Zone(status.Zone)
		require.True(t, known)
		require.Equal(t, status, one)
	}
}

func TestZ2UnknownNodesAreNothing(t *testing.T) {
	c := newCluster(t, zone.Config{})
	c.forget("ghost")
	require.Zero(t, c.NotBefore("ghost"))
	require.False(t, c.evaluate().Changed())
	require.Empty(t, c.Zones())
	_, known := c.Zone("a")
	require.False(t, known)

	c.ready("a", "a0")
	c.evaluate()
	c.forget("ghost", "a0", "a0")
	require.Equal(t, []string{"a"}, c.evaluate().Gone)
	require.Zero(t, c.NotBefore("a0"))
}

// OpenYurt PR #2500 and #47791: a node whose zone label changed indexed the
// queue of a zone that did not exist.
func TestZ2ANodeThatMovesIsCountedOnce(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.ready("a", names("a", 3)...)
	c.evaluate()

	c.ready("", "a0") // its labels are taken away
	evaluation := c.evaluate()
	require.Equal(t, []zone.Change{{Zone: "", From: zone.Initial, To: zone.Normal,
		Counts: zone.Counts{Ready: 1}, Rate: 0.1}}, evaluation.Changes,
		"zone a has another count, but neither another state nor another rate")
	require.Empty(t, evaluation.Gone)

	c.notReady("b", "a0") // and given again, while the node dies
	evaluation = c.evaluate()
	require.Equal(t, []zone.Change{{Zone: "b", From: zone.Initial, To: zone.FullDisruption,
		Counts: zone.Counts{NotReady: 1}, Rate: 0.1}}, evaluation.Changes)
	require.Equal(t, []string{""}, evaluation.Gone)

	c.ready("b", names("a", 3)...)
	evaluation = c.evaluate()
	require.Equal(t, []zone.Change{{Zone: "b", From: zone.FullDisruption, To: zone.Normal,
		Counts: zone.Counts{Ready: 3}, Rate: 0.1}}, evaluation.Changes)
	require.Equal(t, []string{"a"}, evaluation.Gone)
	require.Len(t, c.Zones(), 1)
}

func TestZ2TheZoneThatANodeLeavesIsEvaluated(t *testing.T) {
	for name, leave := range map[string]func(c *cluster){
		"by moving": func(c *cluster) { c.ready("b", "a0") },
		"by going":  func(c *cluster) { c.forget("a0") },
		"by exclusion": func(c *cluster) {
			c.Observe(c.now, "a0",
				zone.Node{Zone: "a", Ready: true, Excluded: true})
		},
		"by being dead": func(c *cluster) { c.notReady("a", "a0") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newActiveCluster(t, zone.Config{})
			c.ready("a", "a0")
			c.notReady("a", "a1")
			c.ready("b", "b0")
			c.evaluate()
			leave(c)
			changes := c.evaluate().Changes
			require.Len(t, changes, 1)
			require.Equal(t, "a", changes[0].Zone)
			require.Equal(t, zone.FullDisruption, changes[0].To)
		})
	}
}

// Upstream's clean-up of zones depends on map order, and the queue of a zone
// that vanished stays.
func TestZ2AVanishedZoneIsGoneOnce(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	for _, name := range []string{"c", "a", "b", "d"} {
		c.ready(name, name+"0")
	}
	c.evaluate()
	c.forget("c0", "a0", "b0")
	evaluation := c.evaluate()
	require.Equal(t, []string{"a", "b", "c"}, evaluation.Gone)
	require.True(t, evaluation.Changed())
	require.Empty(t, evaluation.Changes)
	require.False(t, c.evaluate().Changed())
	require.Len(t, c.Zones(), 1)
}

func TestZ2AZoneThatComesBackStartsAsInitial(t *testing.T) {
	back := []zone.Change{{Zone: "a", From: zone.Initial, To: zone.Normal,
		Counts: zone.Counts{Ready: 1}, Rate: 0.1}}
	c := newActiveCluster(t, zone.Config{})
	c.ready("a", "a0")
	c.evaluate()

	c.forget("a0")
	require.Equal(t, []string{"a"}, c.evaluate().Gone)
	c.ready("a", "a0")
	require.Equal(t, zone.Evaluation{Phase: zone.PhaseActive, From: zone.PhaseActive, Changes: back},
		c.evaluate())

	c.forget("a0")
	c.ready("a", "a1")
	require.Equal(t, zone.Evaluation{Phase: zone.PhaseActive, From: zone.PhaseActive, Changes: back},
		c.evaluate(),
		"between two evaluations: a new zone, and none is gone")

	c.forget("a1")
	c.ready("a", "a1")
	c.forget("a1")
	require.Equal(t, zone.Evaluation{Phase: zone.PhaseActive, From: zone.PhaseActive,
		Gone: []string{"a"}}, c.evaluate(),
		"it was known before, and is gone in the end")
}

func TestZ2AZoneThatWasNeverReportedIsNotGone(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.ready("a", "a0")
	c.forget("a0")
	require.False(t, c.evaluate().Changed())
}

// A policy may call a zone Initial, for example one that is too small to
// evaluate. What was reported of such a zone must still be undone.
func TestZ2APolicyThatSaysInitialLeavesNothingBehind(t *testing.T) {
	c := newActiveCluster(t, zone.Config{State: func(zone.Counts) zone.State { return zone.Initial }})
	c.ready("a", "a0")
	told := []zone.Change{{Zone: "a", From: zone.Initial, To: zone.Initial,
		Counts: zone.Counts{Ready: 1}, Rate: 0.1}}
	require.Equal(t, told, c.evaluate().Changes)
	require.False(t, c.evaluate().Changed())
	c.forget("a0")
	require.Equal(t, []string{"a"}, c.evaluate().Gone)

	// A rate of zero is reported too: the caller's queue of the zone's last life
	// may have another one.
	c = newActiveCluster(t, zone.Config{
		State: func(zone.Counts) zone.State { return zone.Initial },
		Rate:  func(_ zone.State, counts zone.Counts) float64 { return float64(counts.Ready) },
	})
	c.ready("a", "a0")
	c.evaluate()
	c.forget("a0")
	c.notReady("a", "a0")
	require.Equal(t, []zone.Change{{Zone: "a", From: zone.Initial, To: zone.Initial,
		Counts: zone.Counts{NotReady: 1}}}, c.evaluate().Changes)
}

func TestZ2AnEmptyZoneIsNormal(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.Observe(c.now, "a0", zone.Node{Zone: "a", Excluded: true})
	require.Equal(t, []zone.Change{{Zone: "a", From: zone.Initial, To: zone.Normal, Rate: 0.1}},
		c.evaluate().Changes)
	c.forget("a0")
	require.Equal(t, []string{"a"}, c.evaluate().Gone, "its last node was one that did not count")
}

// In upstream a cluster without nodes is fully disrupted, and leaving that
// state panics for a node without a health entry (#141572).
func TestZ2NoZonesAreNoDisruption(t *testing.T) {
	c := newCluster(t, zone.Config{})
	require.Equal(t, zone.Evaluation{Phase: zone.PhaseRecovering, From: zone.PhaseRecovering},
		c.evaluate())
	c.pass(grace)
	require.Equal(t, zone.Evaluation{Phase: zone.PhaseActive, From: zone.PhaseRecovering},
		c.evaluate())

	c.notReady("a", "a0")
	require.Equal(t, zone.PhaseSuspended, c.evaluate().Phase)
	c.forget("a0")
	require.Equal(t, zone.Evaluation{Phase: zone.PhaseRecovering, From: zone.PhaseSuspended,
		Gone: []string{"a"}}, c.evaluate())
	c.pass(grace)
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase)
}

func TestZ2OnlyExcludedNodesAreNoDisruption(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	for _, node := range names("a", 5) {
		c.Observe(c.now, node, zone.Node{Zone: "a", Excluded: true})
	}
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase)

	c.notReady("b", "b0") // every zone in which nodes count is fully disrupted
	require.Equal(t, zone.PhaseSuspended, c.evaluate().Phase)
	require.Equal(t, map[string]float64{"a": 0, "b": 0}, c.rates())

	c.Observe(c.now, "b0", zone.Node{Zone: "b", Excluded: true})
	require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
}

func TestZ2EvaluatingTwiceSaysNothingNew(t *testing.T) {
	c := newCluster(t, zone.Config{})
	for _, step := range []func(){
		func() { c.ready("a", names("a", 9)...) },
		func() { c.notReady("a", names("a", 6)...) },
		func() { c.notReady("a", names("a", 9)...) },
		func() { c.ready("a", "a0") },
		func() { c.pass(grace) },
		func() { c.ready("b", "b0") },
		func() { c.forget(names("a", 9)...) },
		func() { c.forget("b0") },
	} {
		step()
		require.True(t, c.evaluate().Changed())
		again := c.evaluate()
		require.False(t, again.Changed())
		require.Equal(t, zone.Evaluation{Phase: c.Phase(), From: c.Phase()}, again)
	}
}

func TestZ2ObservingTheSameAgainIsNothing(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.notReady("a", "a0", "a1")
	c.ready("a", "a2")
	c.evaluate()
	before := c.Zones()
	for range 3 {
		c.pass(time.Second)
		c.notReady("a", "a0", "a1")
		c.ready("a", "a2")
		require.False(t, c.evaluate().Changed())
		require.Equal(t, before, c.Zones())
	}
}

// The same operations give the same evaluations, though maps are walked in
// another order each time.
func TestZ2ResultsDoNotDependOnMapOrder(t *testing.T) {
	run := func() string {
		c := newCluster(t, zone.Config{Rate: zone.Rates{Normal: 0.1, Fraction: 0.01}.Rate})
		trace := ""
		note := func() { trace += fmt.Sprintf("%+v %+v\n", c.evaluate(), c.Zones()) }
		for i := range 40 {
			c.ready(fmt.Sprint("zone", i), names(fmt.Sprint(i, "-"), 3)...)
		}
		note()
		c.pass(grace)
		note() // all of them get their rates
		for i := range 40 {
			if i%3 != 0 {
				c.notReady(fmt.Sprint("zone", i), names(fmt.Sprint(i, "-"), 1+i%3)...)
			}
			if i%4 == 0 {
				c.forget(names(fmt.Sprint(i, "-"), 3)...)
			}
		}
		note() // many change, many go
		for i := range 40 {
			c.notReady(fmt.Sprint("zone", i), names(fmt.Sprint(i, "-"), 3)...)
		}
		note()
		c.ready("zone0", "0-0")
		note()
		c.pass(grace)
		note()
		return trace
	}
	want := run()
	for range 50 {
		require.Equal(t, want, run())
	}
}

func TestObserveAndEvaluateWithoutNewsAllocateNothing(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	for _, name := range []string{"a", "b", "c"} {
		c.ready(name, names(name, 5)...)
		c.notReady(name, name+"0")
	}
	c.evaluate()
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		c.Observe(c.now, "b3", zone.Node{Zone: "b", Ready: true})
		if c.evaluate().Changed() {
			t.Error("news")
		}
	}))
	ready := false
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		c.Observe(c.now, "b3", zone.Node{Zone: "b", Ready: ready})
		if c.evaluate().Changed() {
			t.Error("news")
		}
		ready = !ready
	}), "a node that goes down in a zone where that makes no difference")
}

// NaN differs from itself, so it would be a change in each evaluation.
func TestZ1AnInvalidRateIsZero(t *testing.T) {
	for _, rate := range []float64{math.NaN(), -1, math.Inf(-1)} {
		c := newActiveCluster(t, zone.Config{
			Rate: func(zone.State, zone.Counts) float64 { return rate },
		})
		c.ready("a", "a0", "a1")
		changes := c.evaluate().Changes
		require.Len(t, changes, 1)
		require.Zero(t, changes[0].Rate)
		c.ready("a", "a2")
		require.False(t, c.evaluate().Changed(), "neither state nor rate has changed")
	}
}
