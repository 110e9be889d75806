package zone_test

import (
	"fmt"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/zone"
)

// A controller gets a disruption of the whole cluster as evaluations.
func ExampleTracker() {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	start := now
	tracker, err := zone.NewTracker[string](zone.Config{StabilizationWindow: 50 * time.Second}, now)
	if err != nil {
		log.Fatal(err)
	}
	observe := func(zoneName string, ready bool, nodes ...string) {
		for _, node := range nodes {
			tracker.Observe(now, node, zone.Node{Zone: zoneName, Ready: ready})
		}
	}
	evaluate := func(pass time.Duration) {
		now = now.Add(pass)
		evaluation := tracker.Evaluate(now)
		fmt.Printf("%3.0f s  %s\n", now.Sub(start).Seconds(), evaluation.Phase)
		for _, c := range evaluation.Changes {
			fmt.Printf("       %s: %s, %d of %d ready, %v nodes a second\n", c.Zone, c.To, c.Counts.Ready,
				c.Counts.Size(), c.Rate)
		}
	}

	observe("east", true, "e1", "e2", "e3")
	observe("west", true, "w1", "w2", "w3")
	evaluate(0)
	evaluate(50 * time.Second)
	observe("east", false, "e1", "e2", "e3")
	evaluate(50 * time.Second) // one zone is dead: its pods go to the other
	observe("west", false, "w1", "w2", "w3")
	evaluate(5 * time.Second) // all are: remove our taints, hold their evictions
	observe("west", true, "w1", "w2", "w3")
	evaluate(195 * time.Second) // one returns: wait, others may follow
	end, _ := tracker.Next(now)
	evaluate(end.Sub(now))

	// Output:
	//   0 s  Recovering
	//        east: Normal, 3 of 3 ready, 0 nodes a second
	//        west: Normal, 3 of 3 ready, 0 nodes a second
	//  50 s  Active
	//        east: Normal, 3 of 3 ready, 0.1 nodes a second
	//        west: Normal, 3 of 3 ready, 0.1 nodes a second
	// 100 s  Active
	//        east: FullDisruption, 0 of 3 ready, 0.1 nodes a second
	// 105 s  Suspended
	//        east: FullDisruption, 0 of 3 ready, 0 nodes a second
	//        west: FullDisruption, 0 of 3 ready, 0 nodes a second
	// 300 s  Recovering
	//        west: Normal, 3 of 3 ready, 0 nodes a second
	// 350 s  Active
	//        east: FullDisruption, 0 of 3 ready, 0.1 nodes a second
	//        west: Normal, 3 of 3 ready, 0.1 nodes a second
}

// The first nodes of a dying zone expire before the zone can be seen to be
// dead.
func ExampleTracker_NotBefore() {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	config := zone.Config{ObservationWindow: ptr.To(10 * time.Second)}
	tracker, err := zone.NewTracker[string](config, now)
	if err != nil {
		log.Fatal(err)
	}
	for _, node := range []string{"n1", "n2", "n3"} {
		tracker.Observe(now, node, zone.Node{Zone: "a"})
		fmt.Println(node, "is not ready at", now.Format("15:04:05"), "and left alone until",
			tracker.NotBefore(node).Format("15:04:05"))
		now = now.Add(6 * time.Second)
	}
	// Output:
	// n1 is not ready at 12:00:00 and left alone until 12:00:10
	// n2 is not ready at 12:00:06 and left alone until 12:00:10
	// n3 is not ready at 12:00:12 and left alone until 12:00:22
}

func ExampleThresholds() {
	byDefault := zone.DefaultThresholds()
	careful := zone.Thresholds{Unhealthy: 0.2, MinNotReady: 3}
	for _, counts := range []zone.Counts{{Ready: 10}, {Ready: 7, NotReady: 3}, {Ready: 4, NotReady: 6},
		{NotReady: 10}} {
		fmt.Printf("%2d not ready: %-17s careful: %s\n", counts.NotReady, byDefault.State(counts),
			careful.State(counts))
	}
	// Output:
	//  0 not ready: Normal            careful: Normal
	//  3 not ready: Normal            careful: PartialDisruption
	//  6 not ready: PartialDisruption careful: PartialDisruption
	// 10 not ready: FullDisruption    careful: FullDisruption
}

// How long taking the pods off all nodes of a dead zone takes.
func ExampleRates() {
	dead := zone.Counts{NotReady: 33_000}
	scaled := zone.DefaultRates()
	scaled.Fraction = 0.0001
	for _, rates := range []zone.Rates{zone.DefaultRates(), scaled} {
		rate := rates.Rate(zone.FullDisruption, dead)
		hours := float64(dead.Size()) / rate / time.Hour.Seconds()
		fmt.Printf("%.1f nodes a second: %.0f hours\n", rate, hours)
	}
	fmt.Println("partial disruption:", zone.DefaultRates().Rate(zone.PartialDisruption,
		zone.Counts{Ready: 20, NotReady: 31}))
	fmt.Println("of a small zone:", zone.DefaultRates().Rate(zone.PartialDisruption,
		zone.Counts{Ready: 20, NotReady: 30}))
	// Output:
	// 0.1 nodes a second: 92 hours
	// 3.3 nodes a second: 3 hours
	// partial disruption: 0.01
	// of a small zone: 0
}

// The domain in which nodes fail together need not be a cloud's zone.
func ExampleByLabels() {
	zoneOf := zone.ByLabels("example.com/pool", "example.com/rack")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
		"example.com/pool":       "gpu",
		"example.com/rack":       "r42",
		corev1.LabelTopologyZone: "eu-1",
	}}}
	fmt.Println(zoneOf(node))
	// Output:
	// gpu/r42
}
