package heartbeat

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestH7AThousandNodesBeatOnTimeWithFewWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes, workers = 1000, 8
		api := newFleetAPI()
		var goroutines atomic.Int64
		before := runtime.NumGoroutine()
		api.setMeddle(func(string, string) (time.Duration, error) {
			goroutines.Store(max(goroutines.Load(), int64(runtime.NumGoroutine())))
			return 20 * time.Millisecond, nil
		})
		config := api.config()
		config.Workers = workers
		h := runFleet(t, config)
		for i := range nodes {
			require.NoError(t, h.Add(api.fleetNode(fmt.Sprint("node-", i))))
		}
		time.Sleep(time.Minute)
		for i := range nodes {
			name := fmt.Sprint("node-", i)
			require.Equal(t, corev1.ConditionTrue, api.ready(t, name).Status)
			require.NotNil(t, api.lease(name))
		}

		api.forgetCalls()
		time.Sleep(time.Minute)
		count := api.count()
		want := map[string]int{"update lease": count["update lease"]}
		require.Equal(t, want, count, "one call for a beat, none for a check")
		for i := range nodes {
			beats := api.times("update lease", fmt.Sprint("node-", i))
			require.GreaterOrEqual(t, len(beats), 5)
			for _, gap := range gaps(beats) {
				require.GreaterOrEqual(t, gap, 9900*time.Millisecond)
				require.LessOrEqual(t, gap, longestGap)
			}
		}
		require.LessOrEqual(t, api.atOnce("lease"), workers)
		require.LessOrEqual(t, api.atOnce("node"), workers)
		// Run, its dispatcher's caller, and the workers of both kinds; and for a
		// moment one for each timer that has just fired.
		require.LessOrEqual(t, goroutines.Load(), int64(before+2*(2*workers+2)))
	})
}

// renewals returns when one node's lease is renewed within ten minutes.
func renewals(t *testing.T, random func() float64) (times []time.Time) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		config := api.config()
		config.Workers, config.Rand = 1, random
		h := runFleet(t, config)
		require.NoError(t, h.Add(api.fleetNode("a")))
		time.Sleep(10 * time.Minute)
		times = api.times("update lease", "a")
	})
	return times
}

func TestH7JitterIsBoundedAndFollowsRand(t *testing.T) {
	seeded := func(seed uint64) func() float64 { return rand.New(rand.NewPCG(seed, 0)).Float64 }
	first := renewals(t, seeded(1))
	require.Greater(t, len(first), 55)
	var shortest, longest = time.Hour, time.Duration(0)
	for _, gap := range gaps(first) {
		shortest, longest = min(shortest, gap), max(longest, gap)
	}
	require.GreaterOrEqual(t, shortest, 10*time.Second)
	require.LessOrEqual(t, longest, 10400*time.Millisecond)
	require.GreaterOrEqual(
		t, longest-shortest, 300*time.Millisecond, "among so many, some are short and some long",
	)

	require.Equal(t, first, renewals(t, seeded(1)))
	require.NotEqual(t, first, renewals(t, seeded(2)))
	for _, gap := range gaps(renewals(t, func() float64 { return 0 })) {
		require.Equal(t, 10*time.Second, gap)
	}
}

func TestH7NodesAddedTogetherBeatAtOnceAndAreSpreadFromThenOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		config := api.config()
		config.Rand = rand.New(rand.NewPCG(1, 2)).Float64
		// Fewer turns make this test short: a renewal every 100 s, no check between
		// reports.
		config.LeaseDuration, config.StatusInterval = 400*time.Second, time.Hour
		h := runFleet(t, config)
		start := time.Now()
		for i := range 1000 {
			require.NoError(t, h.Add(api.fleetNode(fmt.Sprint("node-", i))))
		}
		synctest.Wait()
		require.Len(t, api.times("create lease", ""), 1000, "all at once")
		require.Len(t, api.times("patch status", ""), 1000)
		require.Equal(t, start, time.Now())

		time.Sleep(10 * time.Minute)
		requireSpread(t, api.times("update lease", ""), start, 100*time.Second, 60, 140)
		// The first reports of the period come 150 s to 450 s after the first.
		reports := api.times("patch status", "")[1000:]
		require.GreaterOrEqual(t, reports[0].Sub(start), 150*time.Second)
		requireSpread(t, reports, start.Add(150*time.Second), 300*time.Second, 60, 140)
	})
}

// requireSpread fails unless each tenth of a period holds a tenth of a thousand
// events, more or less.
func requireSpread(
	t *testing.T, times []time.Time, from time.Time, period time.Duration, least, most int,
) {
	t.Helper()
	var tenths [10]int
	for _, at := range times {
		if tenth := int(at.Sub(from) * 10 / period); tenth < len(tenths) {
			tenths[tenth]++
		}
	}
	for _, n := range tenths {
		require.GreaterOrEqual(t, n, least, "%v", tenths)
		require.LessOrEqual(t, n, most, "%v", tenths)
	}
}

func TestH7AHangingCallTimesOutAndDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		hangs := func(name string) bool { return name < "node-4" } // node-0 to node-3
		api.setMeddle(func(_, name string) (time.Duration, error) {
			if hangs(name) {
				return hang, nil
			}
			return time.Millisecond, nil
		})
		config := api.config()
		config.Workers, config.Timeout = 8, 3*time.Second
		config.Rand = func() float64 { return 0 }
		counts := &fleetCounts{}
		config.Metrics = counts
		h := runFleet(t, config)
		for i := range 9 {
			require.NoError(t, h.Add(api.fleetNode(fmt.Sprint("node-", i))))
		}
		time.Sleep(5 * time.Minute)
		after := func(want, got time.Duration) {
			require.GreaterOrEqual(t, got, want)
			require.Less(t, got, want+100*time.Millisecond, "more than a hundredth of the interval late")
		}
		for i := range 9 {
			name := fmt.Sprint("node-", i)
			if !hangs(name) {
				for _, gap := range gaps(api.times("update lease", name)) {
					after(10*time.Second, gap)
				}
				continue
			}
			tries := gaps(api.times("get lease", name))
			require.Greater(t, len(tries), 30)
			// 3 s until the timeout and then the shorter half of the pause.
			after(3*time.Second+10*time.Second/64, tries[0])
			after(3*time.Second+10*time.Second/32, tries[1])
			require.Equal(t, 8*time.Second, tries[len(tries)-1], "no pause is longer than the interval")
		}
		require.Greater(t, counts.get("lease failed"), 4*30)
		require.Greater(t, counts.get("status failed"), 4*30)
		require.Equal(t, len(api.times("update lease", ""))+5, counts.get("lease renewed"))
	})
}

func TestH7ReportsThatHangDoNotDelayRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		api.setMeddle(func(verb, _ string) (time.Duration, error) {
			if verb == "get node" {
				return hang, nil
			}
			return time.Millisecond, nil
		})
		config := api.config()
		config.Workers = 2
		h := runFleet(t, config)
		for i := range 100 {
			require.NoError(t, h.Add(api.fleetNode(fmt.Sprint("node-", i))))
		}
		time.Sleep(2 * time.Minute)
		require.Equal(t, 2, api.atOnce("node"))
		for i := range 100 {
			for _, gap := range gaps(api.times("update lease", fmt.Sprint("node-", i))) {
				require.Less(t, gap, 11*time.Second)
			}
		}
	})
}

func TestH7AFailedBeatIsTriedAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		counts := &fleetCounts{}
		config := api.config()
		config.Metrics = counts
		h := runFleet(t, config)
		require.NoError(t, h.Add(api.fleetNode("a")))
		time.Sleep(time.Minute)
		api.forgetCalls()
		failures := 0
		api.setMeddle(func(verb, _ string) (time.Duration, error) {
			if verb == "update lease" && failures < 3 {
				failures++
				return 0, errFleetAPI
			}
			return 0, nil
		})
		time.Sleep(30 * time.Second)
		beats := api.times("update lease", "a")
		require.GreaterOrEqual(t, len(beats), 5)
		require.Less(t, beats[3].Sub(beats[0]), 2500*time.Millisecond,
			"0.31, 0.63 and 1.25 s at most, each late by at most a hundredth of the interval")
		require.Greater(t, beats[3].Sub(beats[0]), time.Second)
		require.GreaterOrEqual(t, beats[4].Sub(beats[3]), 10*time.Second, "and then on time again")
		require.Equal(t, 3, counts.get("lease failed"))
		require.Empty(t, api.times("get lease", ""), "what failed for another reason is not read again")

		api.setMeddle(func(string, string) (time.Duration, error) { return 0, errFleetAPI })
		api.forgetCalls()
		time.Sleep(10 * time.Minute)
		for _, gap := range gaps(api.times("update lease", "a")) {
			require.LessOrEqual(t, gap, 10*time.Second+100*time.Millisecond,
				"a pause is never longer than the interval and a hundredth")
		}
		require.LessOrEqual(t, len(api.times("update lease", "a")), 10*60/5+6, "and not for ever short")
	})
}

func TestH7AnOutageOfALeaseDurationIsFollowedByAReport(t *testing.T) {
	for _, outage := range []time.Duration{20 * time.Second, 2 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			api := newFleetAPI()
			config := api.config()
			config.Rand = func() float64 { return 0.5 } // reports are 5 min apart
			h := runFleet(t, config)
			require.NoError(t, h.Add(api.fleetNode("a")))
			time.Sleep(time.Minute)
			api.setMeddle(func(string, string) (time.Duration, error) { return 0, errFleetAPI })
			time.Sleep(outage)
			api.setNode(
				"a", func(node *corev1.Node) { node.Status.Conditions[0].Status = corev1.ConditionUnknown },
			)
			api.setMeddle(nil)
			time.Sleep(15 * time.Second)
			want := corev1.ConditionUnknown // we do not know, and the period is not over
			if outage > 40*time.Second {
				want = corev1.ConditionTrue
			}
			require.Equal(t, want, api.ready(t, "a").Status)
		})
	}
}
