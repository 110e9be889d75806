package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// The demonstration runs the same fleet as on a real cluster, on a cluster in
// memory. Its script plays the user and the scheduler. Its summary is of what
// the API server stored, in the order in which it was stored. So a busy machine
// makes it slower, and neither better nor worse.

// demoDefaults are the flags of the demonstration, unless they are given.
var demoDefaults = map[string]string{"nodes": "40", "zones": "4"}

const (
	// demoGlance is how often the play reads the cluster.
	demoGlance = 100 * time.Millisecond
	// demoPause is how long a step that has ended stays in view. What the fleet
	// does in it is part of the step.
	demoPause = time.Second
)

// demonstrate plays the script and returns an error if the summary does not
// hold.
func demonstrate(ctx context.Context, s *settings, out io.Writer) error {
	clock := demonstration.NewClock()
	return demonstrateOn(ctx, memory.NewCluster(), clock, s, demonstration.NewScreen(out, clock.Elapsed), out)
}

// demonstrateOn is demonstrate on a cluster that is empty.
func demonstrateOn(ctx context.Context, cluster *memory.Cluster, clock *demonstration.Clock, s *settings,
	screen *demonstration.Screen, out io.Writer) error {
	if s.nodes < s.zones || s.zones < 2 {
		return fmt.Errorf("--nodes=%d --zones=%d: the demonstration wants two zones with a node each", s.nodes, s.zones)
	}
	process.PrintInMemory(out)
	p := &play{
		cluster: cluster, client: cluster.NewClient(), settings: s, screen: screen, seen: &state{},
		world: &world{client: cluster, nodes: s.registering(), zones: s.zones},
	}
	defer func() { _ = p.endProcess() }() // its error is that of the play
	// Each silent node would be a line in the middle of the picture.
	if done, err := p.run(klog.NewContext(ctx, klog.Logger{}), clock); err != nil || !done {
		return err
	}
	return newHistory(cluster).judge(p).print(out, p.client.Requests())
}

// play is the script on its way.
type play struct {
	cluster  *memory.Cluster
	client   *memory.Client // that of the fleet
	settings *settings
	screen   *demonstration.Screen
	world    *world

	// stop ends the process that runs, and ended tells when it has.
	stop  context.CancelFunc
	ended chan error
	// seen is what the cluster was like when it was last read.
	seen *state
	err  error // of that
	// marks are the last versions of each step that was played.
	marks     []uint64
	unreached []string
}

// beginProcess starts the fleet as a process does.
func (p *play) beginProcess(ctx context.Context) error {
	clients := process.Clients{
		Acting: p.client, Watching: p.client, Recording: p.cluster.NewClient(), Electing: p.cluster.NewClient(),
	}
	told := newRecording(ctx, p.settings, clients.Recording)
	f, err := newFleet(ctx, p.settings, clients, prometheus.NewRegistry(), told.record())
	if err != nil {
		told.stop()
		return err
	}
	ctx, p.stop = context.WithCancel(ctx)
	p.ended = make(chan error, 1)
	go func() {
		err := f.Run(ctx)
		told.stop()
		p.ended <- err
	}()
	return nil
}

// endProcess ends the fleet. Nothing of it is left but what is stored.
func (p *play) endProcess() error {
	if p.stop == nil {
		return nil
	}
	p.stop()
	p.stop = nil
	return <-p.ended
}

// run plays the script. It reports false if ctx ends before.
func (p *play) run(ctx context.Context, clock *demonstration.Clock) (done bool, err error) {
	player := &demonstration.Player{
		World: clock, Pace: demonstration.AtOnce, Glance: demoGlance, Show: func() { p.see(ctx) },
	}
	p.unreached, done, err = player.Play(ctx, p.screen, p.script(), func() { p.marks = append(p.marks, p.seen.version) })
	switch {
	case err != nil:
		return false, err
	case !done:
		return false, nil
	case p.err != nil:
		return false, p.err
	}
	return true, p.endProcess()
}

// see reads the cluster, and shows it.
func (p *play) see(ctx context.Context) {
	seen, err := p.world.see(ctx)
	if err != nil {
		p.err = err
		return
	}
	p.seen = seen
	var picture strings.Builder
	for _, zone := range seen.zones() {
		line := fmt.Sprintf("%s: %d of %d nodes ready, %d of %d pods ready, %d restarts",
			zone.name, zone.readyNodes, zone.nodes, zone.readyPods, zone.pods, zone.restarts)
		if fmt.Fprintln(&picture, line); !p.screen.IsLive() {
			p.screen.Change(zone.name, line)
		}
	}
	if p.screen.IsLive() {
		p.screen.Draw(picture.String())
	}
}
