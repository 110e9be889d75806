package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kubelife/lifecycle/examples/daemonset/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// The demonstration runs the same controller as on a real cluster. Its cluster
// is that of the simulation, in virtual time, and nothing goes wrong in it. The
// time passes as fast as the clock, and a busy machine makes it only slower. So
// each run shows the same.

// demoDefaults are the flags of the demonstration, unless they are given.
var demoDefaults = map[string]string{"kube-api-qps": "1000", "kube-api-burst": "1000"}

const (
	// demoGlance is how often the play reads the cluster.
	demoGlance = 100 * time.Millisecond
	// demoBeat is how often lines tell what has changed, where there is no
	// terminal.
	demoBeat = time.Second
	// demoPause is how long a step that has ended stays in view.
	demoPause = 1500 * time.Millisecond
)

// demoKubelets are quick, so that a rollout takes seconds.
var demoKubelets = simulation.Kubelets{
	Bind:   simulation.Span{Min: 10 * time.Millisecond, Max: 100 * time.Millisecond},
	Begin:  simulation.Span{Min: 50 * time.Millisecond, Max: 100 * time.Millisecond},
	Ready:  simulation.Span{Min: 400 * time.Millisecond, Max: 600 * time.Millisecond},
	Stop:   simulation.Span{Min: 50 * time.Millisecond, Max: 200 * time.Millisecond},
	Broken: ":" + badImage,
}

// newCluster returns a cluster in which the controller runs.
func newCluster(s *settings, seed uint64) (*simulation.World, error) {
	config := s.config()
	config.Backoff.Jitter = nil // each run is the same
	world, err := simulation.NewWorld(simulation.WorldConfig{Seed: seed, Controller: config, Kubelets: demoKubelets})
	if err != nil {
		return nil, fmt.Errorf("set up the demonstration: %w", err)
	}
	return world, nil
}

// demonstrate plays the script and returns an error if the summary does not
// hold.
func demonstrate(ctx context.Context, s *settings, pace demonstration.Pace, out io.Writer) error {
	world, err := newCluster(s, 0)
	if err != nil {
		return err
	}
	return demonstrateOn(ctx, world, pace, demonstration.NewScreen(out, world.Elapsed), out)
}

func demonstrateOn(ctx context.Context, world *simulation.World, pace demonstration.Pace,
	screen *demonstration.Screen, out io.Writer) error {
	screen.Beat = demoBeat
	p := &play{World: world, screen: screen}
	player := &demonstration.Player{World: world, Pace: pace, Glance: demoGlance, Show: p.show, Pause: demoPause}
	unreached, done, err := player.Play(ctx, screen, p.script(), func() { p.ends = append(p.ends, p.seen) })
	if err != nil || !done {
		return err
	}
	return p.summarize(unreached, out)
}

// play is the script on its way.
type play struct {
	*simulation.World

	screen *demonstration.Screen
	seen   *state
	ends   []*state // of the steps that were played
	// mostDown and mostSurging are how many nodes had no available pod of agent,
	// and two pods of proxy, at most at a glance in a rollout.
	mostDown, mostSurging int
}

// show shows how things are now.
func (p *play) show() {
	p.seen = newState(p.World)
	if step := len(p.ends); step == firstRollout || step >= badRollout {
		p.mostDown = max(p.mostDown, p.seen.down(demoSets[0].name))
		p.mostSurging = max(p.mostSurging, p.seen.surging(demoSets[1].name))
	}
	p.screen.Show(p.picture, func() {
		for _, set := range demoSets {
			p.screen.Change(set.name, set.name+"  "+p.seen.row(set))
		}
	})
}
