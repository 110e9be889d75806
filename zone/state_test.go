package zone_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/zone"
)

func TestZ1StatesAreUpstreamsByDefault(t *testing.T) {
	for _, c := range []struct {
		ready, notReady int
		want            zone.State
	}{
		{0, 0, zone.Normal},
		{1, 0, zone.Normal},
		{1000, 0, zone.Normal},
		{0, 1, zone.FullDisruption}, // one dead node is a whole zone
		{0, 2, zone.FullDisruption},
		{0, 1000, zone.FullDisruption},
		{1, 1, zone.Normal}, // half are not ready, but no more than two
		{1, 2, zone.Normal}, // two thirds, but no more than two
		{1, 3, zone.PartialDisruption},
		{2, 3, zone.PartialDisruption}, // 0.6
		{3, 3, zone.Normal},            // 0.5
		{3, 4, zone.PartialDisruption}, // 0.571
		{9, 11, zone.PartialDisruption},
		{10, 10, zone.Normal},
		{46, 54, zone.Normal},
		{45, 55, zone.PartialDisruption}, // exactly 0.55
		{44, 56, zone.PartialDisruption},
		{450, 550, zone.PartialDisruption},
		{451, 550, zone.Normal},
		{4501, 5499, zone.Normal},
		{1, 9999, zone.PartialDisruption},
	} {
		counts := zone.Counts{Ready: c.ready, NotReady: c.notReady}
		require.Equal(t, c.want, zone.DefaultThresholds().State(counts), "%+v", counts)
	}
}

// 0.55 has no exact floating point value. The decision must be that of whole
// numbers at every size.
func TestZ1ElevenOfTwentyIsTheBoundaryAtEverySize(t *testing.T) {
	for size := 1; size <= 600; size++ {
		for notReady := range size { // never all: that is a full disruption
			want := zone.Normal
			if notReady > 2 && 20*notReady >= 11*size {
				want = zone.PartialDisruption
			}
			counts := zone.Counts{Ready: size - notReady, NotReady: notReady}
			if got := zone.DefaultThresholds().State(counts); got != want {
				t.Fatalf("%+v is %s, want %s", counts, got, want)
			}
		}
	}
}

// Upstream's flag is a float32. A threshold that rounds up to the fraction
// counts as reached, though it is larger as a float64.
func TestZ1FractionsAreComparedAsFloat32(t *testing.T) {
	third := zone.Counts{Ready: 6, NotReady: 3}
	require.Equal(t, zone.PartialDisruption,
		zone.Thresholds{Unhealthy: 0.33333334, MinNotReady: 3}.State(third))
	require.Equal(t, zone.Normal, zone.Thresholds{Unhealthy: 0.3333334, MinNotReady: 3}.State(third))
	require.Equal(t, zone.PartialDisruption, zone.Thresholds{Unhealthy: float64(float32(0.55)),
		MinNotReady: 3}.State(zone.Counts{Ready: 9, NotReady: 11}))
}

func TestZ1ThresholdsCanBeChanged(t *testing.T) {
	for _, c := range []struct {
		thresholds      zone.Thresholds
		ready, notReady int
		want            zone.State
	}{
		{zone.Thresholds{Unhealthy: 0.55, MinNotReady: 1}, 1, 1, zone.Normal},
		{zone.Thresholds{MinNotReady: 1, Unhealthy: 0.5}, 1, 1, zone.PartialDisruption},
		{zone.Thresholds{Unhealthy: 0.55, MinNotReady: 1}, 0, 1, zone.FullDisruption},
		{zone.Thresholds{Unhealthy: 0.55, MinNotReady: 4}, 1, 3, zone.Normal},
		{zone.Thresholds{Unhealthy: 0.55, MinNotReady: 4}, 1, 4, zone.PartialDisruption},
		{zone.Thresholds{Unhealthy: 0.2, MinNotReady: 3}, 13, 3, zone.Normal},
		{zone.Thresholds{Unhealthy: 0.2, MinNotReady: 3}, 12, 3, zone.PartialDisruption},
		{zone.Thresholds{Unhealthy: 1, MinNotReady: 3}, 1, 999, zone.Normal}, // never partial
		{zone.Thresholds{Unhealthy: 1, MinNotReady: 3}, 0, 999, zone.FullDisruption},
		{zone.Thresholds{Unhealthy: math.SmallestNonzeroFloat64, MinNotReady: 3}, 1000, 2, zone.Normal},
		{zone.Thresholds{Unhealthy: math.SmallestNonzeroFloat64, MinNotReady: 3}, 1000, 3,
			zone.PartialDisruption},
	} {
		counts := zone.Counts{Ready: c.ready, NotReady: c.notReady}
		require.NoError(t, c.thresholds.Validate())
		require.Equal(t, c.want, c.thresholds.State(counts), "%+v of %+v", c.thresholds, counts)
	}
}

func TestZ1RatesAreUpstreamsByDefault(t *testing.T) {
	for _, c := range []struct {
		state zone.State
		size  int
		want  float64
	}{
		{zone.Initial, 1, 0.1}, // upstream makes the queue of a new zone with this limit
		{zone.Normal, 1, 0.1},
		{zone.Normal, 33_000, 0.1},
		{zone.FullDisruption, 1, 0.1},
		{zone.FullDisruption, 33_000, 0.1},
		{zone.PartialDisruption, 50, 0},
		{zone.PartialDisruption, 51, 0.01},
		{zone.PartialDisruption, 33_000, 0.01},
		{zone.Normal, 0, 0.1},
		{zone.PartialDisruption, 0, 0},
	} {
		got := zone.DefaultRates().Rate(c.state,
			zone.Counts{Ready: c.size / 3, NotReady: c.size - c.size/3})
		require.Equal(t, c.want, got, "%s of %d nodes", c.state, c.size)
	}
	rates := zone.Rates{Normal: 3, Secondary: 2, LargeZone: 10}
	require.InDelta(t, 3, rates.Rate(zone.FullDisruption, zone.Counts{NotReady: 10}), 0)
	require.InDelta(t, 0, rates.Rate(zone.PartialDisruption, zone.Counts{Ready: 4, NotReady: 6}), 0)
	require.InDelta(t, 2, rates.Rate(zone.PartialDisruption, zone.Counts{Ready: 5, NotReady: 6}), 0)
}

// The demand report, scale: losing a zone of 33,000 nodes at the absolute rate
// takes 92 hours.
func TestZ1FractionRaisesTheRateOfLargeZones(t *testing.T) {
	hours := func(r zone.Rates, nodes int) float64 {
		return float64(nodes) / r.Rate(zone.FullDisruption, zone.Counts{NotReady: nodes}) / 3600
	}
	require.InDelta(t, 91.7, hours(zone.DefaultRates(), 33_000), 0.1)
	scaled := zone.DefaultRates()
	scaled.Fraction = 0.0001
	require.InDelta(t, 2.8, hours(scaled, 33_000), 0.1)
	require.InDelta(t, hours(zone.DefaultRates(), 1000), hours(scaled, 1000), 1e-9,
		"at 1,000 nodes both are 0.1")

	require.InDelta(t, 0.1, scaled.Rate(zone.Normal, zone.Counts{Ready: 999}), 0)
	require.InDelta(t, 0.2, scaled.Rate(zone.Normal, zone.Counts{Ready: 1999, NotReady: 1}), 1e-12)
	require.InDelta(t, 0.01, scaled.Rate(zone.PartialDisruption,
		zone.Counts{Ready: 1000, NotReady: 32_000}), 0,
		"a partial disruption does not raise the rate")
}

func TestZ1PoliciesArePluggable(t *testing.T) {
	const degraded zone.State = "Degraded"
	c := newActiveCluster(t, zone.Config{
		State: func(counts zone.Counts) zone.State {
			if counts.NotReady > 0 {
				return degraded
			}
			return zone.Normal
		},
		Rate: func(state zone.State, counts zone.Counts) float64 {
			if state == degraded {
				return 100 * float64(counts.NotReady)
			}
			return float64(counts.Size())
		},
	})
	c.ready("a", names("a", 4)...)
	require.Equal(t, []zone.Change{{Zone: "a", From: zone.Initial, To: zone.Normal,
		Counts: zone.Counts{Ready: 4}, Rate: 4}}, c.evaluate().Changes)

	c.notReady("a", "a0", "a1")
	require.Equal(t, []zone.Change{{Zone: "a", From: zone.Normal, To: degraded,
		Counts: zone.Counts{Ready: 2, NotReady: 2}, Rate: 200}}, c.evaluate().Changes)

	c.notReady("a", "a2")
	require.Equal(t, []zone.Change{{Zone: "a", From: degraded, To: degraded,
		Counts: zone.Counts{Ready: 1, NotReady: 3}, Rate: 300}}, c.evaluate().Changes,
		"another rate is news, also in the same state")

	c.notReady("a", "a3")
	require.Equal(t, zone.PhaseActive, c.evaluate().Phase,
		"the policy decides what full disruption is")
}

// A policy that calls every zone fully disrupted suspends a healthy cluster.
func TestZ1ThePolicyDecidesWhatSuspends(t *testing.T) {
	dead := func(zone.Counts) zone.State { return zone.FullDisruption }
	c := newActiveCluster(t, zone.Config{State: dead})
	c.ready("a", "a0")
	require.Equal(t, zone.PhaseSuspended, c.evaluate().Phase)
}

func TestZ1ValidateJoinsAllProblems(t *testing.T) {
	thresholds := zone.Thresholds{Unhealthy: 2, MinNotReady: -1}.Validate()
	require.ErrorContains(t, thresholds, "Thresholds.Unhealthy is 2")
	require.ErrorContains(t, thresholds, "Thresholds.MinNotReady is -1")

	rates := zone.Rates{Normal: -1, Secondary: -2, Fraction: -3, LargeZone: -4}.Validate()
	require.ErrorIs(t, rates, zone.ErrInvalidConfig)
	for _, problem := range []string{
		"Rates.Normal is -1", "Rates.Secondary is -2", "Rates.Fraction is -3", "Rates.LargeZone is -4",
	} {
		require.ErrorContains(t, rates, problem)
	}
}

func TestZ1InvalidConfigIsRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"threshold below zero": {zone.Thresholds{Unhealthy: -0.1}.Validate(),
			"Thresholds.Unhealthy is -0.1, want 0 to 1"},
		"threshold above one": {zone.Thresholds{Unhealthy: 1.1}.Validate(),
			"Thresholds.Unhealthy is 1.1, want 0 to 1"},
		"threshold in percent": {zone.Thresholds{Unhealthy: 55}.Validate(), "Thresholds.Unhealthy is 55"},
		"threshold no number": {zone.Thresholds{Unhealthy: nan}.Validate(),
			"Thresholds.Unhealthy is NaN"},
		"minimum": {zone.Thresholds{MinNotReady: -1}.Validate(),
			"Thresholds.MinNotReady is -1"},
		"normal rate":         {zone.Rates{Normal: -1}.Validate(), "Rates.Normal is -1"},
		"normal no number":    {zone.Rates{Normal: nan}.Validate(), "Rates.Normal is NaN"},
		"secondary rate":      {zone.Rates{Secondary: -1}.Validate(), "Rates.Secondary is -1"},
		"secondary no number": {zone.Rates{Secondary: nan}.Validate(), "Rates.Secondary is NaN"},
		"fraction":            {zone.Rates{Fraction: -1}.Validate(), "Rates.Fraction is -1"},
		// Infinity times no node is not a number.
		"fraction infinite": {zone.Rates{Fraction: inf}.Validate(), "Rates.Fraction is +Inf"},
		"large zone":        {zone.Rates{LargeZone: -1}.Validate(), "Rates.LargeZone is -1"},
		"stabilization": {
			zone.Config{StabilizationWindow: -time.Second}.Validate(), "Config.StabilizationWindow is -1s",
		},
		"observation": {
			zone.Config{ObservationWindow: ptr.To(-time.Second)}.Validate(),
			"Config.ObservationWindow is -1s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, c.err, zone.ErrInvalidConfig)
			require.ErrorContains(t, c.err, c.want)
		})
	}
	_, err := zone.NewTracker[string](zone.Config{StabilizationWindow: -1}, epoch)
	require.ErrorIs(t, err, zone.ErrInvalidConfig)
	_, err = zone.NewTracker[string](zone.Config{}, time.Time{})
	require.ErrorIs(t, err, zone.ErrInvalidConfig)
	require.ErrorContains(t, err, "now is zero")

	require.NoError(t, errors.Join(
		zone.Thresholds{}.Validate(), zone.Thresholds{Unhealthy: 1, MinNotReady: 1}.Validate(),
		zone.Rates{}.Validate(),
		zone.Rates{Normal: 1, Secondary: 1, LargeZone: 1, Fraction: 1}.Validate(),
		zone.Config{}.Validate(), zone.Config{ObservationWindow: ptr.To(time.Duration(0))}.Validate(),
	))
}
