package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
)

// large is a cluster of 5,000 nodes and 150,000 pods for an hour, as in the
// benchmark of package simulation.
func large() *scenario.Scenario {
	s := &scenario.Scenario{
		Name: "large", Duration: scenario.Duration(time.Hour), Seed: 1,
		Cluster: scenario.Cluster{Workloads: []scenario.Workload{
			{Name: "agent", Kind: scenario.DaemonSet},
			{Name: "database", Kind: scenario.StatefulSet, Replicas: 45_000},
			{Name: "web", Kind: scenario.Deployment, Replicas: 100_000},
		}},
		Controller: scenario.Controller{Flags: map[string]scenario.FlagValue{"kube-api-qps": "1000",
			"kube-api-burst": "1000"}},
	}
	for _, zone := range []string{"a", "b", "c", "d", "e"} {
		s.Cluster.Zones = append(s.Cluster.Zones, scenario.Zone{Name: zone, Nodes: 1000, Racks: 20})
	}
	rack := 3
	s.Script = []scenario.Step{
		{At: scenario.Duration(5 * time.Minute), Silence: &scenario.Nodes{Zone: "a", Rack: &rack}},
		{At: scenario.Duration(15 * time.Minute), For: scenario.Duration(20 * time.Minute),
			Silence: &scenario.Nodes{Zone: "b"}},
	}
	return s
}

// What a recorder costs of a large run: 15 % at most is the aim. Compare the
// two.
func BenchmarkHourOf5000Nodes(b *testing.B) {
	run := func(watch func(*simulation.Simulation)) func(*testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				s, err := simulation.New(large())
				require.NoError(b, err)
				watch(s)
				s.Run()
			}
		}
	}
	b.Run("alone", run(func(*simulation.Simulation) {}))
	b.Run("recorded", run(func(s *simulation.Simulation) { report.Watch(s, nil) }))
}
