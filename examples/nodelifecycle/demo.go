package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// The demonstration plays a scenario of examples/outage, with short times: the
// same controller as on a real cluster, on a cluster in virtual time. That
// passes as fast as the clock, and a busy machine makes it only slower. So each
// run shows the same.

// demoDefaults are the flags of the demonstration, unless they are given.
var demoDefaults = map[string]string{
	"node-monitor-period":          "1s",
	"node-monitor-grace-period":    "4s",
	"node-startup-grace-period":    "4s",
	"node-heartbeat-interval":      "1s",
	"node-blind-after":             "2s",
	"leader-elect-retry-period":    "500ms",
	"node-eviction-rate":           "1",
	"secondary-node-eviction-rate": "0.5",
	"large-cluster-size-threshold": "10",
	"kube-api-qps":                 "1000",
	"kube-api-burst":               "1000",
}

const (
	demoZones        = "abc"
	demoNodesPerZone = 20
	demoToleration   = 6 // seconds
	demoLength       = 41 * time.Second
	// demoPatience is how long after that pods that are late are waited for.
	demoPatience = 20 * time.Second
	demoGlance   = 250 * time.Millisecond
)

// outage is one line of the script: some nodes fall silent for a while.
type outage struct {
	title     string
	at, until time.Duration // after the start; until zero is for good
	nodes     []string
}

// script is what happens. Times are chosen so that nodes are back before the
// tolerations of their pods end, where the title says so.
var script = []outage{
	{"a rack of zone a burns down: 3 nodes, for good", 6 * time.Second, 0, nodesOf("a")[:3]},
	{"2 nodes of zone b reboot, and are back just in time", 7 * time.Second, 14 * time.Second, nodesOf("b")[:2]},
	{"zone c loses power: all its 20 nodes", 15 * time.Second, 24 * time.Second, nodesOf("c")},
	{"the network between all nodes and the API server fails", 28 * time.Second, 34 * time.Second,
		slices.Concat(nodesOf("a")[3:], nodesOf("b"), nodesOf("c"))},
}

func nodesOf(zone string) []string {
	var names []string
	for i := range demoNodesPerZone {
		names = append(names, fmt.Sprintf("%s-%d", zone, i))
	}
	return names
}

// The workloads of the demonstration, by how long their pods tolerate an ill
// node. Faithful pods do for ever, like those of a DaemonSet.
const (
	impatient = "impatient"
	patient   = "patient"
	faithful  = "faithful"
)

// tolerations are those of the pods that do not tolerate an ill node for ever.
var tolerations = map[string]time.Duration{impatient: 0, patient: demoToleration * time.Second}

// demoScenario returns the script on its cluster, with the flags that were
// given.
func demoScenario(flags *pflag.FlagSet) *scenario.Scenario {
	const nodes = len(demoZones) * demoNodesPerZone
	s := &scenario.Scenario{
		Name:     "demonstration",
		Duration: scenario.Duration(demoLength + demoPatience),
		Cluster: scenario.Cluster{
			BeatInterval:   scenario.Duration(time.Second),
			StatusInterval: scenario.Duration(10 * time.Second),
			Workloads: []scenario.Workload{
				{Name: impatient, Kind: scenario.Bare, Replicas: nodes, TolerationSeconds: new(int64(0))},
				{Name: patient, Kind: scenario.Bare, Replicas: 4 * nodes, TolerationSeconds: new(int64(demoToleration))},
				{Name: faithful, Kind: scenario.Bare, Replicas: 2 * nodes, TolerateForever: true},
			},
		},
		Controller: scenario.Controller{Flags: controllerFlags(flags)},
	}
	for _, zone := range demoZones {
		s.Cluster.Zones = append(s.Cluster.Zones, scenario.Zone{Name: string(zone), Nodes: demoNodesPerZone})
	}
	for i := range script {
		step := scenario.Step{At: scenario.Duration(script[i].at), Silence: &scenario.Nodes{Names: script[i].nodes}}
		if script[i].until > 0 {
			step.For = scenario.Duration(script[i].until - script[i].at)
		}
		s.Script = append(s.Script, step)
	}
	return s
}

// controllerFlags returns the flags of the controller that were given.
func controllerFlags(flags *pflag.FlagSet) map[string]scenario.FlagValue {
	known := pflag.NewFlagSet(name, pflag.ContinueOnError)
	new(options.Options).AddFlags(known)
	given := map[string]scenario.FlagValue{}
	flags.Visit(func(flag *pflag.Flag) {
		if known.Lookup(flag.Name) != nil {
			given[flag.Name] = scenario.FlagValue(flag.Value.String())
		}
	})
	return given
}

// cue is a line that is told at a time.
type cue struct {
	at   time.Duration
	text string
}

func cues() []cue {
	var all []cue
	for _, o := range script {
		all = append(all, cue{o.at, o.title})
		if o.until > 0 {
			all = append(all, cue{o.until, "over: " + o.title})
		}
	}
	slices.SortStableFunc(all, func(a, b cue) int { return int(a.at - b.at) })
	return all
}

// demonstrate plays the scenario and returns an error if the summary does not
// hold.
func demonstrate(ctx context.Context, s *scenario.Scenario, pace demonstration.Pace, out io.Writer) error {
	played, err := simulation.New(s)
	if err != nil {
		return fmt.Errorf("set up the demonstration: %w", err)
	}
	screen := demonstration.NewScreen(out, played.Elapsed)
	return demonstrateOn(ctx, played, pace, screen, out)
}

func demonstrateOn(ctx context.Context, played *simulation.Simulation, pace demonstration.Pace,
	screen *demonstration.Screen, out io.Writer) error {
	seen, judge := watch(played), played.Judge()
	shows := &view{screen: screen, seen: seen, replica: played.Replicas()[0]}
	player := &demonstration.Player{World: played, Pace: pace, Glance: demoGlance, Show: shows.draw}
	for _, c := range cues() {
		if !player.Pass(ctx, c.at-played.Elapsed()) {
			return nil
		}
		screen.Say(c.text)
	}
	nothingMissing := func() bool { return len(seen.verdict().missing) == 0 }
	if !player.Pass(ctx, demoLength-played.Elapsed()) || !player.Await(ctx, demoPatience, nothingMissing) {
		return nil
	}
	judge.End()
	return seen.verdict().print(out, judge.Violations())
}
