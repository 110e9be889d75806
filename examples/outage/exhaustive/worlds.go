package exhaustive

import (
	"maps"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// Worlds returns the worlds: two nodes, two pods, and faults that end, or that
// last for good.
func Worlds() []*World {
	deployment := scenario.Workload{Name: "web", Replicas: 2, TolerationSeconds: ptr.To(int64(5)), EveryTaint: true}
	named := deployment
	named.Kind = scenario.StatefulSet
	budgeted := deployment
	budgeted.MinAvailable = 1
	full := deployment
	full.MinAvailable = 2
	patient := deployment // until a loss of all nodes is known, however late
	patient.TolerationSeconds = ptr.To(int64(60))
	one, both := &scenario.Nodes{Names: []string{"a-0"}}, &scenario.Nodes{All: true}
	silence := func(at, lasts int, nodes *scenario.Nodes) scenario.Step {
		return scenario.Step{At: seconds(at), For: seconds(lasts), Silence: nodes}
	}
	drain := scenario.Taint{Nodes: *one, Key: "maintenance", Effect: "NoExecute"}
	evict := map[string]scenario.FlagValue{"action": "evict-then-delete", "evict-for": "20s"}
	other := &scenario.Nodes{Names: []string{"a-1"}}
	return []*World{
		newWorld("a node dies and comes back", &deployment, nil, silence(60, 60, one)),
		newWorld("a node dies, and its pod comes back under its name", &named, nil, silence(60, 60, one)),
		newWorld("both nodes die, and come back one after the other", &deployment, nil,
			silence(60, 60, one), silence(62, 75, other)),
		newWorld("both nodes are cut off for a moment longer than the grace period", &deployment, nil,
			silence(60, 24, both)),
		newWorld("a node is not ready, and then dies", &deployment, nil,
			scenario.Step{At: seconds(60), For: seconds(40), NotReady: one}, silence(70, 50, one)),
		newWorld("an administrator taints a node that dies", &deployment, nil, silence(60, 60, one),
			scenario.Step{At: seconds(81), For: seconds(20),
				Taint: &scenario.Taint{Nodes: *one, Key: "maintenance", Effect: "NoSchedule"}}),
		newWorld("an administrator drains a node", &deployment, nil,
			scenario.Step{At: seconds(60), For: seconds(30), Taint: &drain}),
		newWorld("a node dies, and its pod is evicted within a budget", &budgeted, evict, silence(60, 60, one)),
		newWorld("a node dies for good", &deployment, nil, silence(60, forGood, one)).
			ends(dead, well, 2),
		newWorld("a node dies for good, and its pod keeps its name", &named, nil, silence(60, forGood, one)).
			ends(dead, well, 1),
		newWorld("both nodes die for good", &patient, nil, silence(60, forGood, one), silence(62, forGood, other)).
			ends(spared, spared, 0),
		newWorld("a node is not ready for good", &deployment, nil,
			scenario.Step{At: seconds(60), NotReady: one}).
			ends(notReady, well, 2),
		newWorld("an administrator drains a node for good", &deployment, nil,
			scenario.Step{At: seconds(60), Cordon: one}, scenario.Step{At: seconds(60), Taint: &drain}).
			ends(drained, well, 2),
		newWorld("a node dies for good, and a budget keeps its pod at first", &full, evict, silence(60, forGood, one)).
			ends(dead, well, 2),
	}
}

const (
	// settled is how long after the last possible deviation the controller has to
	// do everything. It is enough for a call that times out, its retries, a grace
	// period and the tolerations.
	settled = 3 * time.Minute
	// rest is for how long the controller must write nothing from then on. It is
	// several times the longest wait of a retry.
	rest = 4 * time.Minute
	// forGood is how long a fault lasts that does not end.
	forGood = 0
	// work is how long after a fault that lasts for good deviations happen. By
	// then an undisturbed controller has done everything.
	work = 75 * time.Second
)

func newWorld(
	name string, w *scenario.Workload, flags map[string]scenario.FlagValue, script ...scenario.Step,
) *World {
	all := map[string]scenario.FlagValue{
		"leader-elect": "false", "node-monitor-grace-period": "20s", "node-heartbeat-interval": "5s",
	}
	maps.Copy(all, flags)
	latency, delay := scenario.Duration(10*time.Millisecond), scenario.Duration(7*time.Millisecond)
	to := time.Duration(0)
	for i := range script {
		if step := &script[i]; step.For > 0 {
			to = max(to, step.At.D()+step.For.D()+30*time.Second)
		} else {
			to = max(to, step.At.D()+work)
		}
	}
	world := &World{
		Name: name,
		from: script[0].At.D(), to: to, quiet: to + settled,
		scenario: scenario.Scenario{
			Name: "exhaustive", Duration: scenario.Duration(to + settled + rest), Seed: 1,
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
	return world.ends(well, well, w.Replicas)
}

// ends sets the world's goal: what its nodes are, and how many pods are ready.
func (w *World) ends(first, second nodeGoal, ready int) *World {
	w.goal = goal{nodes: map[string]nodeGoal{"a-0": first, "a-1": second}, ready: ready}
	return w
}

func seconds(n int) scenario.Duration { return scenario.Duration(time.Duration(n) * time.Second) }
