package report

import (
	"math"
	"time"
)

// Series are numbers over time, for plots. Their points are [Series.Step]
// apart, and at most [MostPoints]. A scenario of twelve minutes has one a
// second, one of an hour one in five seconds.
//
// What a point says of the time since the point before depends on the number.
// Nodes by state and pods evicted are as at the point, so the states add up to
// the zone's nodes. Pods waiting and blocked are the most at a time. Of the
// taints, it is the second with the most in the minute before it. Calls are the
// mean.
type Series struct {
	// Step is how far apart points are. The last may be nearer.
	Step Seconds `json:"step"`
	// At are the times of the points. All lists below are as long.
	At []Seconds `json:"at"`
	// Zones are in the order of the summary.
	Zones []ZoneSeries `json:"zones"`
	// Calls is how many calls a second all processes sent, those for the leader's
	// lease and the lists of watches apart. CallLimit is what --kube-api-qps
	// allows one process; a burst may exceed it.
	Calls     []float64 `json:"calls"`
	CallLimit float64   `json:"callLimit"`
}

// ZoneSeries are those of a zone.
type ZoneSeries struct {
	Name string `json:"zone"`
	// Each node of the zone counts in one of the four. Tainted have a NoExecute
	// taint of the controller. NotReady have none, and their Ready condition is
	// not True. Silent do not reach the API server, which has not been noticed.
	// Ready are the others.
	Ready    []int `json:"ready"`
	Silent   []int `json:"silent"`
	NotReady []int `json:"notReady"`
	Tainted  []int `json:"tainted"`
	// Tainting is how many nodes got a NoExecute taint in a minute, Limit how many
	// were allowed to. They are as in [Peak].
	Tainting []int     `json:"tainting"`
	Limit    []float64 `json:"limit"`
	// Waiting are the pods on nodes that have a NoExecute taint or are not ready,
	// and that do not tolerate this for ever. Those that a flag such as
	// --spare-daemonset-pods exempts count as well. Blocked are those of them
	// whose eviction a PodDisruptionBudget refused. Evicted were told to leave up
	// to then.
	Waiting []int `json:"waiting"`
	Blocked []int `json:"blocked"`
	Evicted []int `json:"evicted"`
}

// MostPoints is how many points a [Series] has at most.
const MostPoints = 722

// steps are how far apart points may be. Longer ones are whole hours.
var steps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
}

// stepFor returns the shortest step with which so much time has few enough
// points: one at the start, and the last may be nearer.
func stepFor(duration time.Duration) time.Duration {
	const most = MostPoints - 2
	for _, step := range steps {
		if duration <= most*step {
			return step
		}
	}
	return (duration/most + time.Hour).Truncate(time.Hour)
}

// states are the nodes of a zone by state.
type states struct{ ready, silent, notReady, tainted int }

// tally is what is known of a zone, or of a node, at one time.
type tally struct {
	states
	waiting, blocked int
}

// add adds another tally so many times.
func (t *tally) add(other tally, times int) {
	t.ready += times * other.ready
	t.silent += times * other.silent
	t.notReady += times * other.notReady
	t.tainted += times * other.tainted
	t.waiting += times * other.waiting
	t.blocked += times * other.blocked
}

// zoneSample is a zone at one time or, merged, over some.
type zoneSample struct {
	tally
	evicted  int
	tainting int
	limit    float64
}

// merge makes it the sample of its time and of what came next.
func (s *zoneSample) merge(next *zoneSample) {
	waiting, blocked := max(s.waiting, next.waiting), max(s.blocked, next.blocked)
	if next.tainting >= s.tainting {
		s.tainting, s.limit = next.tainting, next.limit
	}
	s.tally, s.evicted = next.tally, next.evicted
	s.waiting, s.blocked = waiting, blocked
}

// sampler makes a Series of samples. What it holds is bounded by the points,
// however many samples there are.
type sampler struct {
	step   time.Duration
	series Series
	// open is the point that is not complete, one sample a zone; started says
	// whether the zone has one. It reaches from after flushed to end, last is its
	// latest sample, and calls is how many belong to it.
	open               []zoneSample
	started            []bool
	calls              int
	flushed, last, end time.Duration
	any                bool
}

func newSampler(duration time.Duration, callLimit float64) *sampler {
	step := stepFor(duration)
	return &sampler{step: step, series: Series{
		Step: SecondsOf(step), At: []Seconds{}, Zones: []ZoneSeries{}, Calls: []float64{}, CallLimit: callLimit,
	}}
}

// zone adds a zone, which had no nodes before.
func (s *sampler) zone(name string) {
	n := len(s.series.At)
	none := func() []int { return make([]int, n) }
	s.series.Zones = append(s.series.Zones, ZoneSeries{
		Name: name, Ready: none(), Silent: none(), NotReady: none(), Tainted: none(),
		Tainting: none(), Limit: make([]float64, n), Waiting: none(), Blocked: none(), Evicted: none(),
	})
	s.open = append(s.open, zoneSample{})
	s.started = append(s.started, false)
}

// add adds how things are at a time. Zones are those that were added, in their
// order, and calls is how many there were since the sample before. Time must
// not go backwards.
func (s *sampler) add(at time.Duration, zones []zoneSample, calls int) {
	if at > s.end {
		s.flush()
		s.end += (at - s.end + s.step - 1).Truncate(s.step)
	}
	for i := range zones {
		if s.started[i] {
			s.open[i].merge(&zones[i])
		} else {
			s.open[i], s.started[i] = zones[i], true
		}
	}
	s.calls += calls
	s.last, s.any = at, true
}

// flush completes the open point.
func (s *sampler) flush() {
	if !s.any {
		return
	}
	out := &s.series
	out.At = append(out.At, SecondsOf(s.last))
	for i := range s.open {
		z, now := &out.Zones[i], &s.open[i]
		z.Ready, z.Silent = append(z.Ready, now.ready), append(z.Silent, now.silent)
		z.NotReady, z.Tainted = append(z.NotReady, now.notReady), append(z.Tainted, now.tainted)
		z.Tainting, z.Limit = append(z.Tainting, now.tainting), append(z.Limit, hundredths(now.limit))
		z.Waiting, z.Blocked = append(z.Waiting, now.waiting), append(z.Blocked, now.blocked)
		z.Evicted = append(z.Evicted, now.evicted)
		s.open[i], s.started[i] = zoneSample{}, false
	}
	perSecond := float64(s.calls)
	if over := (s.last - s.flushed).Seconds(); over > 0 {
		perSecond /= over
	}
	out.Calls = append(out.Calls, hundredths(perSecond))
	s.calls, s.flushed, s.any = 0, s.last, false
}

// finish completes the series.
func (s *sampler) finish() Series {
	s.flush()
	return s.series
}

func hundredths(v float64) float64 { return math.Round(v*100) / 100 }
