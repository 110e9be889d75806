package main

import (
	_ "embed" // for demoFile
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/zone"
)

// demoFile is the scenario of the demonstration, with short times. The program
// examples/outage plays it too, and shows more of it.
//
//go:embed demo.yaml
var demoFile []byte

// titles say what the steps of the scenario are. Their times are such that nodes
// are back before the tolerations of their pods end, where the title says so.
var titles = []string{
	"a rack of zone a burns down: 3 nodes, for good",
	"2 nodes of zone b reboot, and are back just in time",
	"zone c loses power: all its 20 nodes",
	"the network between all nodes and the API server fails",
}

// forGood is the step that lasts, as an index. Pods have to leave its nodes.
const forGood = 0

// newCluster sets the scenario up, with the flags of the controller that were
// given.
func newCluster(flags *pflag.FlagSet, seed uint64) (*simulation.Simulation, error) {
	s, err := scenario.Read("demo.yaml", demoFile)
	if err != nil {
		return nil, fmt.Errorf("set up the demonstration: %w", err)
	}
	known := pflag.NewFlagSet(name, pflag.ContinueOnError)
	new(options.Options).AddFlags(known)
	flags.Visit(func(flag *pflag.Flag) {
		if known.Lookup(flag.Name) != nil {
			s.Controller.Flags[flag.Name] = scenario.FlagValue(flag.Value.String())
		}
	})
	s.Seed = seed
	played, err := simulation.New(s)
	if err != nil {
		return nil, fmt.Errorf("set up the demonstration: %w", err)
	}
	return played, nil
}

// judged returns what the controller is judged by. No call fails, so it has no
// retry to wait for, and may take a second to begin. Each pod that is late
// counts.
func judged(played *simulation.Simulation) judge.Settings {
	settings := played.JudgeSettings()
	settings.CalmBound, settings.Keep = time.Second, 1000
	return settings
}

// demo is the script on its way.
type demo struct {
	*demonstration.Play[simulation.Knowledge]

	recorder *report.Recorder
	judge    *judge.Judge
	witness  *witness
}

// newDemo returns the demonstration. The outages are said when they begin and
// end.
func newDemo(played *simulation.Simulation, by judge.Settings) *demo {
	d := &demo{
		recorder: report.Watch(played, nil), judge: played.JudgeBy(by),
		witness: &witness{played: played, toUnknown: delays{}, toTaint: delays{}},
	}
	d.Play = &demonstration.Play[simulation.Knowledge]{
		Cluster: played, Look: played.Replicas()[0].Knowledge, Glance: 250 * time.Millisecond,
		Lines:  d.lines,
		Legend: fmt.Sprintf("%s ready  %s unknown  %s tainted NoExecute", readyNode, unknownNode, taintedNode),
		Length: played.Scenario().Duration.D(), Summarize: d.summarize,
	}
	played.World().Watch(d.witness)
	for i, title := range titles {
		step := &played.Scenario().Script[i]
		played.World().At(step.At.D(), func() { d.Say(title) })
		if step.For > 0 {
			played.World().At((step.At + step.For).D(), func() { d.Say("over: " + title) })
		}
	}
	return d
}

// The cells of nodes.
var (
	readyNode   = demonstration.Green.Paint("■")
	unknownNode = demonstration.Yellow.Paint("■")
	taintedNode = demonstration.Red.Paint("■")
)

// lines tell about the cluster and each zone.
func (d *demo) lines(tell demonstration.Tell) {
	tell("", fmt.Sprintf("cluster  %s", d.Seen.Phase))
	for _, z := range d.Seen.Zones {
		name := nameOf(z)
		now := d.recorder.Tally(name)
		tell(name, fmt.Sprintf("zone %s  %-17s %3d ready %3d unknown %3d tainted %4d evicted",
			name, z.State, now.Ready+now.Silent, now.NotReady, now.Tainted, now.Evicted),
			strings.Repeat(readyNode, now.Ready+now.Silent), strings.Repeat(unknownNode, now.NotReady),
			strings.Repeat(taintedNode, now.Tainted))
	}
}

// nameOf returns a zone's short name. In the API's form it is region,
// separator, zone.
func nameOf(z zone.Status) string {
	return strings.Trim(z.Zone[strings.LastIndexByte(z.Zone, ':')+1:], "\x00")
}
