package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
	"github.com/kubelife/lifecycle/examples/outage/invariant"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/zone"
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

// judged returns what the controller is judged by. No call fails, so it has no
// retry to wait for, and may take a second to begin. Each pod that is late
// counts.
func judged(played *simulation.Simulation) invariant.Settings {
	settings := played.JudgeSettings()
	settings.CalmBound, settings.Keep = time.Second, 1000
	return settings
}

// demo is the script on its way.
type demo struct {
	*demonstration.Play[simulation.Knowledge]

	recorder *report.Recorder
	judge    *invariant.Judge
	witness  *witness
}

// newDemo returns the demonstration. The outages are said when they begin and
// end.
func newDemo(played *simulation.Simulation, by invariant.Settings) *demo {
	d := &demo{
		recorder: report.Watch(played, nil), judge: played.JudgeBy(by),
		witness: &witness{played: played, toUnknown: delays{}, toTaint: delays{}},
	}
	d.Play = &demonstration.Play[simulation.Knowledge]{
		Cluster: played, Look: played.Replicas()[0].Knowledge, Glance: 250 * time.Millisecond,
		Lines: d.lines, Picture: d.picture,
		Length: demoLength, Summarize: d.summarize,
	}
	played.World().Watch(d.witness)
	for _, o := range script {
		played.World().At(o.at, func() { d.Say(o.title) })
		if o.until > 0 {
			played.World().At(o.until, func() { d.Say("over: " + o.title) })
		}
	}
	return d
}

// lines tell about the cluster and each zone.
func (d *demo) lines(tell func(about, line string)) {
	tell("", fmt.Sprintf("cluster  %s", d.Seen.Phase))
	for _, z := range d.Seen.Zones {
		name := nameOf(z)
		now := d.recorder.Tally(name)
		tell(name, fmt.Sprintf("zone %s  %-17s %3d ready %3d unknown %3d tainted %4d evicted",
			name, z.State, now.Ready+now.Silent, now.NotReady, now.Tainted, now.Evicted))
	}
}

// picture shows a zone a line, with a character for each node.
func (d *demo) picture() string {
	var b strings.Builder
	fmt.Fprintf(&b, " of %.0fs   cluster: %-9s   pods waiting to leave: %d\n\n", demoLength.Seconds(), d.Seen.Phase, d.Seen.Pending)
	fmt.Fprintf(&b, "zone  %-*s  %-17s  nodes/s  evicted\n", demoNodesPerZone, "nodes", "state")
	ready, unknown, tainted := demonstration.Green.Paint("■"), demonstration.Yellow.Paint("■"), demonstration.Red.Paint("■")
	for _, z := range d.Seen.Zones {
		now := d.recorder.Tally(nameOf(z))
		nodes := strings.Repeat(ready, now.Ready+now.Silent) + strings.Repeat(unknown, now.NotReady) +
			strings.Repeat(tainted, now.Tainted)
		fmt.Fprintf(&b, "%-4s  %s  %-17s  %7.2f  %7d\n", nameOf(z), nodes, z.State, z.Rate, now.Evicted)
	}
	fmt.Fprintf(&b, "\n      %s ready  %s unknown  %s tainted NoExecute\n\n", ready, unknown, tainted)
	return b.String()
}

// nameOf returns a zone's short name. In the API's form it is region,
// separator, zone.
func nameOf(z zone.Status) string {
	return strings.Trim(z.Zone[strings.LastIndexByte(z.Zone, ':')+1:], "\x00")
}
