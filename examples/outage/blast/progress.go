package blast

import (
	"sync/atomic"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/zone"
)

// Progress is how far all runs are.
type Progress struct {
	// Done is how many runs of how many are over.
	Done, Of int
	// Share is which share of the time of all scenarios is over, from 0 to 1. Runs
	// that go on count with what they have done.
	Share float64
}

// gauge is how far a run is, and where it ends, both in time of its scenario.
// The run moves it, and others read it.
type gauge struct {
	now, end atomic.Int64
	expected time.Duration
}

func newGauge(expected time.Duration) *gauge {
	g := &gauge{expected: expected}
	g.end.Store(int64(expected))
	return g
}

// is says how far the run is, and when it ends if nothing more happens. It ends
// not before it was expected to.
func (g *gauge) is(now, end time.Duration) {
	g.now.Store(int64(now))
	g.end.Store(int64(max(end, g.expected)))
}

// over says that the run is over.
func (g *gauge) over(now time.Duration) {
	g.now.Store(int64(now))
	g.end.Store(int64(now))
}

// shareOf returns which share of all runs is over.
func shareOf(gauges [][]*gauge) float64 {
	var now, end float64
	for _, of := range gauges {
		for _, g := range of {
			now, end = now+float64(g.now.Load()), end+float64(g.end.Load())
		}
	}
	return now / max(end, 1)
}

// expected returns how long the run of a loss is likely to be.
func (v *Variant) expected(loss *Loss, longest time.Duration) time.Duration {
	return v.begin + loss.step.For.D() + min(v.lasting(loss), longest)
}

// lasting returns how long a loss is likely to be played. Its nodes are tainted
// at the rates of their zones, and the tolerations of their pods end. Then
// nothing happens for a while.
func (v *Variant) lasting(loss *Loss) time.Duration {
	tainting := v.tainting(loss)
	if tainting > 0 {
		tainting += v.toleration()
	}
	return tainting + v.silentFor()
}

// tainting returns how long it takes to taint the nodes of a loss.
func (v *Variant) tainting(loss *Loss) time.Duration {
	if loss.step.Silence == nil {
		return 0
	}
	policy, longest, all := v.options.Controller().Zone, 0.0, true
	for i := range v.scenario.Cluster.Zones {
		z := &v.scenario.Cluster.Zones[i]
		lost := (&scenario.Cluster{Zones: []scenario.Zone{*z}}).Matching(loss.step.Silence)
		all = all && lost == z.Nodes
		counts := zone.Counts{Ready: z.Nodes - lost, NotReady: lost}
		if rate := policy.Rate(policy.State(counts), counts); lost > 0 && rate > 0 {
			longest = max(longest, float64(lost)/rate)
		}
	}
	if all {
		return 0 // the controller is suspended
	}
	return time.Duration(min(longest, mostTime.Seconds()) * float64(time.Second))
}
