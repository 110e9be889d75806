package zone_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/zone"
)

// A tracker cannot know whether a suspension ended just before it started.
func TestZ3TheStartRecoversForAGracePeriod(t *testing.T) {
	c := newCluster(t, zone.Config{})
	require.Equal(t, zone.PhaseRecovering, c.Phase())
	c.ready("a", "a0")
	c.notReady("b", "b0")
	evaluation := c.evaluate()
	require.Equal(t, zone.PhaseRecovering, evaluation.Phase)
	require.Len(t, evaluation.Changes, 2, "the states are reported all the same")
	require.Equal(t, map[string]float64{"a": 0, "b": 0}, c.rates())

	end, ok := c.Next(c.now)
	require.True(t, ok)
	require.Equal(t, after(grace), end)
	c.now = end.Add(-1)
	require.False(t, c.evaluate().Changed())
	c.now = end
	require.Equal(t, zone.Evaluation{Phase: zone.PhaseActive, From: zone.PhaseRecovering,
		Changes: []zone.Change{
			{Zone: "a", From: zone.Normal, To: zone.Normal, Counts: zone.Counts{Ready: 1}, Rate: 0.1},
			{Zone: "b", From: zone.FullDisruption, To: zone.FullDisruption,
				Counts: zone.Counts{NotReady: 1}, Rate: 0.1},
		}}, c.evaluate())
	_, ok = c.Next(c.now)
	require.False(t, ok)
}

func TestZ3TheStabilizationWindowIsTheCallers(t *testing.T) {
	c := newCluster(t, zone.Config{StabilizationWindow: 7 * time.Second})
	end, _ := c.Next(c.now)
	require.Equal(t, after(7*time.Second), end)
	c.notReady("a", "a0")
	c.evaluate()
	c.pass(time.Minute)
	c.ready("a", "a0")
	c.evaluate()
	end, _ = c.Next(c.now)
	require.Equal(t, after(67*time.Second), end)
}

// #131182, #131314, enhancements #5263: if every zone seems dead, most likely
// the observer is cut off.
func TestZ3AllZonesFullyDisruptedSuspend(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.ready("a", names("a", 3)...)
	c.ready("b", names("b", 3)...)
	c.evaluate()

	c.notReady("a", names("a", 3)...)
	require.Equal(t, zone.Evaluation{Phase: zone.PhaseActive, From: zone.PhaseActive,
		Changes: []zone.Change{
			{Zone: "a", From: zone.Normal, To: zone.FullDisruption,
				Counts: zone.Counts{NotReady: 3}, Rate: 0.1},
		}}, c.evaluate(), "one zone may be dead, and its pods go elsewhere")

	c.notReady("b", "b0", "b1")
	require.False(t, c.evaluate().Changed())
	c.notReady("b", "b2")
	require.Equal(t, zone.Evaluation{Phase: zone.PhaseSuspended, From: zone.PhaseActive,
		Changes: []zone.Change{
			{Zone: "a", From: zone.FullDisruption, To: zone.FullDisruption,
				Counts: zone.Counts{NotReady: 3}},
			{Zone: "b", From: zone.Normal, To: zone.FullDisruption, Counts: zone.Counts{NotReady: 3}},
		}}, c.evaluate())
	_, ok := c.Next(c.now)
	require.False(t, ok, "only a node can end it")

	c.pass(time.Hour)
	require.False(t, c.evaluate().Changed(), "time does not end it")
	require.Equal(t, map[string]float64{"a": 0, "b": 0}, c.rates())
}

// The smallest cluster is one zone: its full disruption is that of the cluster.
func TestZ3OneZoneAloneSuspends(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.notReady("", "n0")
	require.Equal(t, zone.PhaseSuspended, c.evaluate().Phase)
	c.ready("", "n1")
	require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
}

func TestZ3ASuspensionEndsWithAFullWindowAndWithoutABurst(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.notReady("a", names("a", 60)...)
	c.notReady("b", names("b", 10)...)
	c.notReady("c", names("c", 10)...)
	require.Equal(t, zone.PhaseSuspended, c.evaluate().Phase)

	c.pass(time.Hour)
	c.ready("a", names("a", 20)...) // 40 of 60 are not
	c.ready("b", "b0")
	left := c.now
	evaluation := c.evaluate()
	require.Equal(t, zone.PhaseSuspended, evaluation.From)
	require.Equal(t, zone.PhaseRecovering, evaluation.Phase)
	require.Equal(t, map[string]float64{"a": 0, "b": 0, "c": 0}, c.rates(),
		"nothing for a grace period, whatever is stored")
	end, ok := c.Next(c.now)
	require.True(t, ok)
	require.Equal(t, left.Add(grace), end)

	for c.now.Before(end) {
		require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
		require.Equal(t, map[string]float64{"a": 0, "b": 0, "c": 0}, c.rates())
		c.pass(time.Second)
	}
	require.Equal(t, zone.Evaluation{Phase: zone.PhaseActive, From: zone.PhaseRecovering,
		Changes: []zone.Change{
			{Zone: "a", From: zone.PartialDisruption, To: zone.PartialDisruption,
				Counts: zone.Counts{Ready: 20, NotReady: 40}, Rate: 0.01},
			{Zone: "c", From: zone.FullDisruption, To: zone.FullDisruption,
				Counts: zone.Counts{NotReady: 10}, Rate: 0.1},
		}}, c.evaluate(), "each by its state; b is small and partially disrupted, and stays at zero")
}

func TestZ3ANewZoneInASuspensionGetsNoRate(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.notReady("a", "a0")
	c.evaluate()
	c.notReady("b", "b0")
	require.Equal(t, zone.Evaluation{Phase: zone.PhaseSuspended, From: zone.PhaseSuspended,
		Changes: []zone.Change{
			{Zone: "b", From: zone.Initial, To: zone.FullDisruption, Counts: zone.Counts{NotReady: 1}},
		}}, c.evaluate())
	c.ready("c", "c0")
	evaluation := c.evaluate()
	require.Equal(t, zone.PhaseRecovering, evaluation.Phase, "and one that is alive ends it")
	require.Equal(t, []zone.Change{{Zone: "c", From: zone.Initial, To: zone.Normal,
		Counts: zone.Counts{Ready: 1}}}, evaluation.Changes)
}

func TestZ3RecoveringCanFallBackIntoASuspension(t *testing.T) {
	for name, c := range map[string]*cluster{
		"at the start":       newCluster(t, zone.Config{}),
		"after a suspension": newActiveCluster(t, zone.Config{}),
	} {
		t.Run(name, func(t *testing.T) {
			c.notReady("a", "a0", "a1")
			c.evaluate()
			c.ready("a", "a0")
			require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
			c.pass(grace / 2)
			c.notReady("a", "a0")
			evaluation := c.evaluate()
			require.Equal(t, zone.PhaseRecovering, evaluation.From)
			require.Equal(t, zone.PhaseSuspended, evaluation.Phase)
			require.Equal(t, zone.FullDisruption, evaluation.Changes[0].To)
			c.pass(grace)
			require.Equal(t, zone.PhaseSuspended, c.evaluate().Phase,
				"the end of the interrupted window does not count")
		})
	}
}

// A zone that flaps between dead and alive never uses the rest of an earlier
// window.
func TestZ3FlappingStartsTheWindowAgainEachTime(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.notReady("a", "a0")
	c.evaluate()
	for _, alive := range []time.Duration{time.Second, grace / 2, 1, grace - 1, time.Second,
		grace - time.Second} {
		c.pass(time.Second)
		c.ready("a", "a0")
		require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
		end, _ := c.Next(c.now)
		require.Equal(t, c.now.Add(grace), end)
		c.pass(alive)
		require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
		c.notReady("a", "a0")
		require.Equal(t, zone.PhaseSuspended, c.evaluate().Phase)
	}
}

// An evaluation sees what is there at its time.
func TestZ3AFlickerBetweenTwoEvaluationsIsNotSeen(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.ready("a", "a0")
	c.evaluate()
	c.notReady("a", "a0")
	c.ready("a", "a0")
	require.False(t, c.evaluate().Changed())
}

func TestZ3AnEvaluationLongAfterTheWindowActs(t *testing.T) {
	c := newCluster(t, zone.Config{})
	c.ready("a", "a0")
	c.evaluate()
	c.pass(24 * time.Hour)
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase)
	require.Equal(t, map[string]float64{"a": 0.1}, c.rates())
}

func TestTimeGoingBackwardsIsClamped(t *testing.T) {
	c := newCluster(t, zone.Config{})
	c.ready("a", "a0", "a1")
	c.now = after(grace)
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase)

	c.now = after(-time.Hour)
	require.False(t, c.evaluate().Changed(), "no second window begins")
	c.notReady("a", "a0")
	require.Equal(t, after(grace+interval), c.NotBefore("a0"), "as if now were the latest time seen")

	c.notReady("a", "a1")
	c.evaluate()
	c.ready("a", "a0")
	require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
	end, _ := c.Next(c.now)
	require.Equal(t, after(2*grace), end, "a full grace period of the time that has been seen")
	c.now = after(2*grace - 1)
	require.Equal(t, zone.PhaseRecovering, c.evaluate().Phase)
	c.now = after(2 * grace)
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase)
}

// Time is seen by Observe too, not by Evaluate alone.
func TestTimeGoingBackwardsAfterAnObservationIsClamped(t *testing.T) {
	c := newCluster(t, zone.Config{})
	c.now = after(grace)
	c.ready("a", "a0")
	c.now = after(0)
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase)
}
