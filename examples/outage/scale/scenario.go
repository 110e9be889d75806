package scale

import (
	"strconv"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// The script of the story.
const (
	lossAt   = 5 * time.Minute
	lostFor  = 10 * time.Minute
	duration = 20 * time.Minute
)

// zones is how many there are; one of them is lost.
const zones = 3

// Scenario returns the story for a cluster of so many nodes, with ten pods a
// node. One of three zones falls silent for ten minutes. The controller has the
// default flags, except for the rate of the config and a thousand calls a
// second. With 20, a large zone is not declared in that time.
func Scenario(nodes int, config Config) *scenario.Scenario {
	config = config.withDefaults()
	s := &scenario.Scenario{
		Name: "scale", Duration: scenario.Duration(duration), Seed: config.Seed,
		Cluster: scenario.Cluster{Kubelets: config.Kubelets, Workloads: []scenario.Workload{
			{Name: "agent", Kind: scenario.DaemonSet},
			{Name: "database", Kind: scenario.StatefulSet, Replicas: 3 * nodes},
			{Name: "web", Kind: scenario.Deployment, Replicas: 6 * nodes},
		}},
		Controller: scenario.Controller{
			Flags: map[string]scenario.FlagValue{
				"kube-api-qps": "1000", "kube-api-burst": "1000",
				"node-eviction-rate": scenario.FlagValue(strconv.FormatFloat(config.EvictionRate, 'g', -1, 64)),
			},
		},
		Script: []scenario.Step{{
			At: scenario.Duration(lossAt), For: scenario.Duration(lostFor), Silence: &scenario.Nodes{Zone: "a"},
		}},
	}
	for i, name := range [zones]string{"a", "b", "c"} {
		s.Cluster.Zones = append(s.Cluster.Zones, scenario.Zone{Name: name, Nodes: (nodes + zones - 1 - i) / zones})
	}
	return s
}
