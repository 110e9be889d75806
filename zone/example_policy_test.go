package zone_test

import (
	"fmt"
	"log"
	"time"

	"github.com/kubelife/lifecycle/zone"
)

// Nothing is done while any zone is without a ready node.
func ExampleConfig_zoneDown() {
	config := zone.Config{Phase: func(c zone.Cluster) zone.Phase {
		if phase := zone.DefaultPhase(c); phase != zone.PhaseActive || c.FullyDisrupted == 0 {
			return phase
		}
		return zone.PhasePaused
	}}
	for down := range 4 {
		cluster := zone.Cluster{Zones: 3, FullyDisrupted: down}
		fmt.Println(down, "of 3 zones are down:", config.Phase(cluster))
	}
	// Output:
	// 0 of 3 zones are down: Active
	// 1 of 3 zones are down: Paused
	// 2 of 3 zones are down: Paused
	// 3 of 3 zones are down: Suspended
}

// At least half of all nodes must be ready, and at most 20 may not be.
func ExampleConfig_minAndMaxHealthy() {
	config := zone.Config{Phase: func(c zone.Cluster) zone.Phase {
		if c.Counts.ReadyFraction() < 0.5 || c.Counts.NotReady > 20 {
			return zone.PhasePaused
		}
		return zone.PhaseActive
	}}
	for _, counts := range []zone.Counts{{Ready: 980, NotReady: 20}, {Ready: 979, NotReady: 21},
		{Ready: 10, NotReady: 10}, {Ready: 9, NotReady: 11}} {
		phase := config.Phase(zone.Cluster{Counts: counts})
		fmt.Printf("%d of %d are ready: %s\n", counts.Ready, counts.Size(), phase)
	}
	// Output:
	// 980 of 1000 are ready: Active
	// 979 of 1000 are ready: Paused
	// 10 of 20 are ready: Active
	// 9 of 20 are ready: Paused
}

// With less than 60 % of the nodes ready, a storm begins. It ends when 80 %
// have been ready for ten minutes.
func ExampleConfig_stormRecovery() {
	config := zone.Config{
		StabilizationWindow: 10 * time.Minute,
		Phase: func(c zone.Cluster) zone.Phase {
			if ready := c.Counts.ReadyFraction(); ready < 0.6 || ready < 0.8 && c.Stopped {
				return zone.PhasePaused
			}
			return zone.DefaultPhase(c)
		},
	}
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	tracker, err := zone.NewTracker[int](config, now)
	if err != nil {
		log.Fatal(err)
	}
	for _, ready := range []int{10, 10, 7, 5, 7, 8, 7, 8, 8, 7} {
		for node := range 10 {
			tracker.Observe(now, node, zone.Node{Zone: "a", Ready: node < ready})
		}
		phase := tracker.Evaluate(now).Phase
		fmt.Printf("%s  %2d of 10 are ready: %s\n", now.Format("15:04"), ready, phase)
		now = now.Add(10 * time.Minute)
	}
	// Output:
	// 12:00  10 of 10 are ready: Recovering
	// 12:10  10 of 10 are ready: Active
	// 12:20   7 of 10 are ready: Active
	// 12:30   5 of 10 are ready: Paused
	// 12:40   7 of 10 are ready: Paused
	// 12:50   8 of 10 are ready: Recovering
	// 13:00   7 of 10 are ready: Paused
	// 13:10   8 of 10 are ready: Recovering
	// 13:20   8 of 10 are ready: Active
	// 13:30   7 of 10 are ready: Active
}

// A zone is emptied within ten minutes or an hour, whatever its size.
func ExampleConfig_relativeRates() {
	config := zone.Config{Rate: func(s zone.State, c zone.Counts) float64 {
		within := 10 * time.Minute
		if s == zone.PartialDisruption {
			within = time.Hour
		}
		return float64(c.Size()) / within.Seconds()
	}}
	for _, nodes := range []int{30, 300, 30_000} {
		counts := zone.Counts{Ready: nodes / 3, NotReady: nodes * 2 / 3}
		partly := config.Rate(zone.PartialDisruption, counts)
		down := config.Rate(zone.FullDisruption, zone.Counts{NotReady: nodes})
		fmt.Printf("%d nodes: %.2f a second, partly disrupted %.2f\n", nodes, down, partly)
	}
	// Output:
	// 30 nodes: 0.05 a second, partly disrupted 0.01
	// 300 nodes: 0.50 a second, partly disrupted 0.08
	// 30000 nodes: 50.00 a second, partly disrupted 8.33
}
