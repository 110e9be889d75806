package nodehealth_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/nodehealth"
)

// patience is a detector whose grace period a test sets.
type patience struct {
	period time.Duration
	heard  []time.Time
}

func (p *patience) Heartbeat(now time.Time)    { p.heard = append(p.heard, now) }
func (p *patience) GracePeriod() time.Duration { return p.period }

func TestADetectorDecidesHowLongANodeMayBeSilent(t *testing.T) {
	detector := &patience{}
	o := newObserver(t, nodehealth.Config{Detector: func() nodehealth.Detector { return detector }})
	o.sees(bareNode("a", "1"))
	detector.period = time.Second
	o.pass(20 * time.Second)
	o.quiet(t, "It has not reported yet.")
	o.sees(reportingNode("a", "1", nodeClock))
	require.Equal(t, []time.Time{o.now}, detector.heard)
	o.pass(time.Second)
	o.finish(o.silent(t, "a"), resultDone)

	detector.period = 0 // does not know
	o.beats("a")
	task := o.silentExactly(t, o.now.Add(monitorGrace), "a")
	require.Equal(t, monitorGrace, task.GracePeriod)
	o.finish(task, resultDone)

	detector.period = time.Hour
	o.beats("a")
	o.quiet(t)
	o.pass(time.Minute)
	detector.period = 5 * time.Second // less patient than when its expiry was set
	o.beats("a")
	o.silentExactly(t, o.now.Add(5*time.Second), "a")
}

func TestSourcesOfANodeCombineAsTheCallerSays(t *testing.T) {
	both := func(h nodehealth.Heard) time.Time { // of lease and probe
		if h.Lease.Before(h.Probe) {
			return h.Lease
		}
		return h.Probe
	}
	o := newObserver(t, nodehealth.Config{Combine: both})
	o.sees(reportingNode("a", "1", nodeClock))
	for range 4 { // without its probe
		o.pass(10 * time.Second)
		o.beats("a")
	}
	task := o.silentExactly(t, observerEpoch.Add(monitorGrace), "a")
	require.Equal(t, observerEpoch, task.Since)
	o.finish(task, resultDone)
	o.pass(time.Hour)
	o.Heartbeat(o.now, "a")
	require.True(t, o.Silent("a"), "its lease is old")
	_, ok := o.Start(o.now)
	require.False(t, ok)
	o.beats("a")
	o.finish(o.alive(t, "a"), resultDone)
	lastProbe := o.now
	for range 4 {
		o.pass(10 * time.Second)
		o.beats("a")
		o.sees(reportingNode("a", "1", nodeClock.Add(o.now.Sub(observerEpoch)))) // not asked
	}
	o.silentExactly(t, lastProbe.Add(monitorGrace), "a")

	latest := nodehealth.Heard{
		Status: nodeClock.Add(1), Lease: nodeClock, Probe: nodeClock.Add(-1),
	}.Latest()
	require.Equal(t, nodeClock.Add(1), latest)
	_, err := nodehealth.NewMonitor[string](nodehealth.Config{Combine: both}, observerEpoch)
	require.ErrorIs(t, err, nodehealth.ErrInvalidConfig)
	require.ErrorContains(t, err, "Combine")
}

// All sources alike is the default.
func TestCombinedByTheLatestIsAsWithout(t *testing.T) {
	o := newObserver(t, nodehealth.Config{Combine: nodehealth.Heard.Latest})
	o.sees(reportingNode("a", "1", nodeClock))
	beats := []func(){
		func() { o.beats("a") },
		func() { o.Heartbeat(o.now, "a") },
		func() { o.sees(reportingNode("a", "1", nodeClock.Add(o.now.Sub(observerEpoch)))) },
	}
	for i := range 30 {
		o.pass(40 * time.Second)
		beats[i%len(beats)]()
		require.Equal(t, o.now, o.lastBeat(t, "a"))
		o.quiet(t)
	}
	o.silentExactly(t, o.now.Add(monitorGrace), "a")
}
