package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
	"github.com/kubelife/lifecycle/examples/outage/invariant"
	"github.com/kubelife/lifecycle/examples/outage/report"
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
	demoGlance       = 250 * time.Millisecond
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

// forGood is the outage that lasts, as an index. Pods have to leave its nodes.
const forGood = 0

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

// demoScenario returns the script on its cluster, with the flags that were
// given.
func demoScenario(flags *pflag.FlagSet) *scenario.Scenario {
	const nodes = len(demoZones) * demoNodesPerZone
	s := &scenario.Scenario{
		Name:     "demonstration",
		Duration: scenario.Duration(demoLength),
		Cluster: scenario.Cluster{
			BeatInterval:   scenario.Duration(time.Second),
			StatusInterval: scenario.Duration(10 * time.Second),
			Workloads: []scenario.Workload{
				{Name: impatient, Kind: scenario.Bare, Replicas: nodes, TolerationSeconds: ptr.To(int64(0))},
				{Name: patient, Kind: scenario.Bare, Replicas: 4 * nodes, TolerationSeconds: ptr.To(int64(demoToleration))},
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

// demonstrate plays the scenario and returns an error if the summary does not
// hold.
func demonstrate(ctx context.Context, s *scenario.Scenario, pace demonstration.Pace, out io.Writer) error {
	played, err := simulation.New(s)
	if err != nil {
		return fmt.Errorf("set up the demonstration: %w", err)
	}
	return newPlay(played, judged(played), demonstration.NewScreen(out, played.Elapsed)).run(ctx, pace, out)
}

// judged returns what the controller is judged by. No call fails, so it has no
// retry to wait for, and may take a second to begin. Each pod that is late
// counts.
func judged(played *simulation.Simulation) invariant.Settings {
	settings := played.JudgeSettings()
	settings.CalmBound, settings.Keep = time.Second, 1000
	return settings
}

// play is the script on its way.
type play struct {
	*simulation.Simulation

	screen   *demonstration.Screen
	recorder *report.Recorder
	judge    *invariant.Judge
	seen     *witness
}

// newPlay gets ready to play. The outages are said when they begin and end.
func newPlay(played *simulation.Simulation, by invariant.Settings, screen *demonstration.Screen) *play {
	p := &play{
		Simulation: played, screen: screen,
		recorder: report.Watch(played, nil), judge: played.JudgeBy(by), seen: newWitness(played),
	}
	played.World().Watch(p.seen)
	for _, o := range script {
		played.World().At(o.at, func() { p.screen.Say(o.title) })
		if o.until > 0 {
			played.World().At(o.until, func() { p.screen.Say("over: " + o.title) })
		}
	}
	return p
}

// run plays the script, and writes the summary. It returns an error if that
// does not hold.
func (p *play) run(ctx context.Context, pace demonstration.Pace, out io.Writer) error {
	player := &demonstration.Player{World: p, Pace: pace, Glance: demoGlance, Show: p.draw}
	if !player.Pass(ctx, demoLength) {
		return nil
	}
	return p.summarize(out)
}
