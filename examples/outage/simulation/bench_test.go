package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// large is a cluster of 5,000 nodes and 150,000 pods, of which a zone fails.
func large() *scenario.Scenario {
	seconds := int64(300)
	zones := []string{"a", "b", "c", "d", "e"}
	s := &scenario.Scenario{
		Name: "large", Duration: scenario.Duration(time.Hour), Seed: 1,
		Cluster: scenario.Cluster{Workloads: []scenario.Workload{
			{Name: "agent", Kind: scenario.DaemonSet},
			{Name: "database", Kind: scenario.StatefulSet, Replicas: 45_000, TolerationSeconds: &seconds},
			{Name: "web", Kind: scenario.Deployment, Replicas: 100_000, TolerationSeconds: &seconds},
		}},
		Controller: scenario.Controller{Flags: map[string]scenario.FlagValue{"kube-api-qps": "1000",
			"kube-api-burst": "1000"}},
	}
	for _, zone := range zones {
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

// An hour of 5,000 nodes with 150,000 pods, in which a rack and a zone fail.
// The aim is less than 5 s a run on two cores.
func BenchmarkHourOf5000Nodes(b *testing.B) {
	for b.Loop() {
		s, err := New(large())
		require.NoError(b, err)
		s.Run()
	}
}
