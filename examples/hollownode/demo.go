package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/hollownode/simulation"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// The demonstration runs the same fleet as on a real cluster. Its cluster is
// that of the simulation, in virtual time, and only its script makes something
// go wrong in it. The time passes as fast as the clock, and a busy machine
// makes it only slower. So each run shows the same.

// demoDefaults are the flags of the demonstration, unless they are given.
var demoDefaults = map[string]string{"nodes": "40", "zones": "4"}

const (
	// demoGlance is how often the play reads the cluster.
	demoGlance = 100 * time.Millisecond
	// demoPause is how long a step that has ended stays in view.
	demoPause = time.Second
)

// newCluster returns a cluster in which no process runs yet.
func newCluster(s *settings, seed uint64) *simulation.World {
	return simulation.NewWorld(simulation.WorldConfig{
		Seed:       seed,
		Fleet:      kubelet.FleetConfig{Capacity: s.capacity, ListPods: s.listPerNode, StaticPods: s.staticPods},
		PodNetwork: s.podCIDR, Register: s.registering(), Workers: s.concurrentCalls,
	})
}

// demonstrate plays the script and returns an error if the summary does not
// hold.
func demonstrate(ctx context.Context, s *settings, pace demonstration.Pace, out io.Writer) error {
	world := newCluster(s, 0)
	return demonstrateOn(ctx, s, world, pace, demonstration.NewScreen(out, world.Elapsed), out)
}

// demonstrateOn is demonstrate in a cluster that is empty.
func demonstrateOn(ctx context.Context, s *settings, world *simulation.World, pace demonstration.Pace,
	screen *demonstration.Screen, out io.Writer) error {
	if s.nodes < s.zones || s.zones < 2 {
		return fmt.Errorf("--nodes=%d --zones=%d: the demonstration wants two zones with a node each", s.nodes, s.zones)
	}
	process.PrintInMemory(out)
	p := &play{World: world, settings: s, screen: screen, nodes: s.registering(), zones: map[string][]string{}}
	for _, node := range p.nodes {
		p.zones[zoneOf(node)] = append(p.zones[zoneOf(node)], node.Name)
	}
	player := &demonstration.Player{World: world, Pace: pace, Glance: demoGlance, Show: p.show, Pause: demoPause}
	unreached, done, err := player.Play(ctx, screen, p.script(), func() { p.marks = append(p.marks, p.Version()) })
	if err != nil || !done {
		return err
	}
	return p.summarize(unreached, out)
}

// play is the script on its way.
type play struct {
	*simulation.World

	settings *settings
	screen   *demonstration.Screen
	nodes    []*corev1.Node
	zones    map[string][]string // the names of their nodes
	pods     int                 // created so far
	// seen is what the cluster was like when it was last read.
	seen *state
	// marks are the last versions of each step that was played.
	marks []uint64
}

// show reads the cluster, and shows it.
func (p *play) show() {
	p.seen = newState(p.World)
	p.screen.Show(func() string {
		var picture strings.Builder
		p.eachZone(func(_, line string) { fmt.Fprintln(&picture, line) })
		return picture.String()
	}, func() { p.eachZone(p.screen.Change) })
}

// eachZone tells about each zone that has nodes, by name.
func (p *play) eachZone(tell func(zone, line string)) {
	for _, zone := range slices.Sorted(maps.Keys(p.zones)) {
		if t := p.seen.tally(zone); t.nodes > 0 {
			tell(zone, fmt.Sprintf("%s: %d of %d nodes ready, %d of %d pods ready, %d restarts",
				zone, t.readyNodes, t.nodes, t.readyPods, t.pods, t.restarts))
		}
	}
}
