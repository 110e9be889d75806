package explore

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/scenarios"
)

const (
	// quietAfter is within what time after the last fault, and after a
	// perturbation, the world is what it should be. From then on nothing but lease
	// renewals happens. It is a grace period of 50 s, 11 s until the state of the
	// zone is known, and the longest toleration of 300 s. A minute comes on top
	// for retries and for the other nodes of the zone.
	quietAfter = 7 * time.Minute
	// quietFor is how long it must stay so.
	quietFor = 2 * time.Minute
	// sooner is by how much all steps of a script come sooner than in the file.
	sooner = 3 * time.Minute
	// perRack is how many nodes of each rack are left.
	perRack = 2
)

// sieved returns a shipped scenario in a small cluster: two nodes of each rack,
// and as many pods a node as in the file. It is changed where a race would else
// decide its outcome. Such a race is about how long after a fault the
// controller acts, which a perturbation changes.
func sieved(name string, seed uint64) (*scenario.Scenario, error) {
	s, err := scenarios.Read(name)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	s.Seed, s.Expect = seed, nil
	before, after := 0, 0
	for i := range s.Cluster.Zones {
		z := &s.Cluster.Zones[i]
		before += z.Nodes
		z.Nodes = perRack * z.Racks
		after += z.Nodes
	}
	for i := range s.Cluster.Workloads {
		w := &s.Cluster.Workloads[i]
		away := w.Replicas - w.MinAvailable
		w.Replicas = w.Replicas * after / before
		if w.MinAvailable > 0 {
			w.MinAvailable = w.Replicas - (away*after+before-1)/before
		}
	}
	for i := range s.Script {
		s.Script[i].At -= scenario.Duration(sooner)
	}
	return s, withoutRaces(s)
}

// withoutRaces gives what heals the time in which all is done that the fault
// asks for, and not much more. That is enough also when tolerations begin again
// in the last moment.
func withoutRaces(s *scenario.Scenario) error {
	last := func(step, n int) { s.Script[step].For = minutes(n) }
	var settings []string
	switch s.Name {
	case "slow-recovery":
		// 16 nodes are a large zone, and 12 of them are tainted in 2 min instead of
		// 20.
		settings = []string{"large-cluster-size-threshold=10", "secondary-node-eviction-rate=0.1"}
		for step := range s.Script {
			last(step, 16)
			s.Script[step].RecoverOver = minutes(5)
		}
	case "flapping-pool":
		// A node of rack 1 is away for 90 s and tainted after 61: with 30 s it is a
		// race whether pods leave. With 200 they stay, also if its return is seen
		// late.
		s.Cluster.Workloads[1].TolerationSeconds = ptr.To(int64(200))
		for step := range s.Script {
			last(step, 15)
		}
	case "whole-cluster-silence":
		last(0, 25)
	case "zone-drain":
		last(0, 20)
	case "zone-loss":
		last(0, 18)
	case "storm-recovery":
		// 8 of 18 nodes are away, and 6 are a storm: also if two are found silent
		// late. The rack is tainted at 14 min, and its pods leave five minutes later.
		// It is away until then, and until a process that starts has waited as long
		// as after a pause.
		settings = []string{"min-healthy-share=0.7"}
		for step := range 2 {
			s.Script[step].RecoverOver = minutes(2)
		}
		last(2, 30)
	case "zone-share":
		// 0.03 a second of 12 and of 4 nodes is more than the least rate, 0.1 nodes a
		// second.
		settings = []string{"node-eviction-zone-share=0.03"}
		for step := range s.Script {
			last(step, 18)
		}
	case "zone-down-pause":
		// Zone a falls silent four minutes after the rack, and all that is late by
		// then leaves after the pause.
	case "rack-loss", "stale-watch", "restart-in-mid-storm", "control-plane-pause", "mass-silence":
	default:
		return fmt.Errorf("scenario %s is new: does a race decide what comes out of it?", s.Name)
	}
	for _, setting := range settings {
		if err := scenario.Set(s, setting); err != nil {
			return fmt.Errorf("set a flag: %w", err)
		}
	}
	return nil
}
