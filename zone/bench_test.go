package zone_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/zone"
)

// One node of 10,000 in 10 zones goes down or comes back, and is evaluated. In
// every zone a few other nodes are down.
func BenchmarkObserveAndEvaluate(b *testing.B) {
	for _, c := range []struct {
		name   string
		config zone.Config
	}{
		{"rate=fixed", zone.Config{}}, // the state of the zone stays as it is
		{"rate=perChange", zone.Config{Rate: perReady}},
	} {
		b.Run(c.name, func(b *testing.B) {
			const nodes, zones = 10_000, 10
			tracker, err := zone.NewTracker[string](c.config, epoch)
			require.NoError(b, err)
			now := epoch.Add(grace)
			keys := names("node-", nodes)
			zoneOf := names("zone-", zones)
			for i, key := range keys {
				tracker.Observe(now, key, zone.Node{Zone: zoneOf[i%zones], Ready: i >= 50})
			}
			tracker.Evaluate(now)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				at := 50 + i/2%(nodes-50)
				tracker.Observe(now, keys[at], zone.Node{Zone: zoneOf[at%zones], Ready: i%2 == 1})
				tracker.Evaluate(now)
				i++
			}
		})
	}
}

// The state of a zone of 10,000 nodes from nothing: all are observed, then
// evaluated.
func BenchmarkZoneFromScratch(b *testing.B) {
	const nodes = 10_000
	keys := names("node-", nodes)
	b.ReportAllocs()
	for b.Loop() {
		tracker, err := zone.NewTracker[string](zone.Config{}, epoch)
		if err != nil {
			b.Fatal(err)
		}
		for i, key := range keys {
			tracker.Observe(epoch, key, zone.Node{Zone: "a", Ready: i%3 == 0})
		}
		if changes := tracker.Evaluate(epoch).Changes; changes[0].To != zone.PartialDisruption {
			b.Fatal(changes)
		}
	}
}

// A change where all zones except one are dead. A search for that one would
// take long.
func BenchmarkEvaluateAmongDeadZones(b *testing.B) {
	for _, zones := range []int{10, 1000} {
		b.Run(fmt.Sprint("zones=", zones), func(b *testing.B) {
			tracker, err := zone.NewTracker[string](zone.Config{}, epoch)
			require.NoError(b, err)
			for i, name := range names("zone-", zones) {
				tracker.Observe(epoch, name, zone.Node{Zone: name, Ready: i == 0})
			}
			tracker.Evaluate(epoch)
			b.ReportAllocs()
			ready := false
			for b.Loop() {
				tracker.Observe(epoch, "flaps", zone.Node{Zone: "zone-0", Ready: ready})
				tracker.Evaluate(epoch)
				ready = !ready
			}
		})
	}
}

func BenchmarkEvaluateWithoutNews(b *testing.B) {
	tracker, err := zone.NewTracker[string](zone.Config{}, epoch)
	require.NoError(b, err)
	for i, name := range names("zone-", 10) {
		tracker.Observe(epoch, name, zone.Node{Zone: name, Ready: i == 0})
	}
	tracker.Evaluate(epoch)
	b.ReportAllocs()
	for b.Loop() {
		tracker.Evaluate(epoch)
	}
}

func BenchmarkThresholdsState(b *testing.B) {
	thresholds := zone.DefaultThresholds()
	counts := zone.Counts{Ready: 4500, NotReady: 5500}
	b.ReportAllocs()
	for b.Loop() {
		if thresholds.State(counts) != zone.PartialDisruption {
			b.Fatal("not partial")
		}
	}
}

// perReady is a rate that follows each change of a zone.
func perReady(_ zone.State, c zone.Counts) float64 { return float64(c.Ready) }
