package exhaustive

import (
	"maps"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// Worlds returns the worlds: two nodes, two pods, and one or two faults that
// begin and end.
func Worlds() []*World {
	deployment := scenario.Workload{Name: "web", Replicas: 2, TolerationSeconds: new(int64(5)), EveryTaint: true}
	named := deployment
	named.Kind = scenario.StatefulSet
	budgeted := deployment
	budgeted.MinAvailable = 1
	one, both := &scenario.Nodes{Names: []string{"a-0"}}, &scenario.Nodes{All: true}
	silence := func(at, lasts int, nodes *scenario.Nodes) scenario.Step {
		return scenario.Step{At: seconds(at), For: seconds(lasts), Silence: nodes}
	}
	evict := map[string]scenario.FlagValue{"action": "evict-then-delete", "evict-for": "20s"}
	return []*World{
		newWorld("a node dies and comes back", &deployment, nil, silence(60, 60, one)),
		newWorld("a node dies, and its pod comes back under its name", &named, nil, silence(60, 60, one)),
		newWorld("both nodes die, and come back one after the other", &deployment, nil,
			silence(60, 60, one), silence(62, 75, &scenario.Nodes{Names: []string{"a-1"}})),
		newWorld("both nodes are cut off for a moment longer than the grace period", &deployment, nil,
			silence(60, 24, both)),
		newWorld("a node is not ready, and then dies", &deployment, nil,
			scenario.Step{At: seconds(60), For: seconds(40), NotReady: one}, silence(70, 50, one)),
		newWorld("an administrator taints a node that dies", &deployment, nil, silence(60, 60, one),
			scenario.Step{At: seconds(81), For: seconds(20),
				Taint: &scenario.Taint{Nodes: *one, Key: "maintenance", Effect: "NoSchedule"}}),
		newWorld("an administrator drains a node", &deployment, nil,
			scenario.Step{At: seconds(60), For: seconds(30),
				Taint: &scenario.Taint{Nodes: *one, Key: "maintenance", Effect: "NoExecute"}}),
		newWorld("a node dies, and its pod is evicted within a budget", &budgeted, evict, silence(60, 60, one)),
	}
}

func newWorld(
	name string, w *scenario.Workload, flags map[string]scenario.FlagValue, script ...scenario.Step,
) *World {
	all := map[string]scenario.FlagValue{
		"leader-elect": "false", "node-monitor-grace-period": "20s", "node-heartbeat-interval": "5s",
	}
	maps.Copy(all, flags)
	latency, delay := scenario.Duration(10*time.Millisecond), scenario.Duration(7*time.Millisecond)
	last := scenario.Duration(0)
	for i := range script {
		last = max(last, script[i].At+script[i].For)
	}
	to := last.D() + 30*time.Second
	return &World{
		Name: name,
		from: script[0].At.D(), to: to, quiet: to + settled,
		scenario: scenario.Scenario{
			Name: "exhaustive", Duration: scenario.Duration(to + settled + time.Minute), Seed: 1,
			Cluster: scenario.Cluster{
				Zones: []scenario.Zone{{Name: "a", Nodes: 2}}, Workloads: []scenario.Workload{*w},
				BeatInterval: seconds(5),
				APILatency:   scenario.Range{Min: latency, Max: latency},
				WatchDelay:   scenario.Range{Min: delay, Max: delay},
			},
			Controller: scenario.Controller{RestartAfter: seconds(1), Flags: all},
			Script:     script,
		},
	}
}

// settled is how long after the last possible deviation the controller has to
// do everything. It is enough for a call that times out, its retries, a grace
// period and the tolerations.
const settled = 3 * time.Minute

func seconds(n int) scenario.Duration { return scenario.Duration(time.Duration(n) * time.Second) }
