package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/daemonset/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// The demonstration runs the same controller as on a real cluster. Its cluster
// is that of the simulation, in virtual time, and nothing goes wrong in it. The
// time passes as fast as the clock, and a busy machine makes it only slower. So
// each run shows the same.

// demoDefaults are the flags of the demonstration, unless they are given.
var demoDefaults = map[string]string{"kube-api-qps": "1000", "kube-api-burst": "1000"}

// demoKubelets are quick, so that a rollout takes seconds.
var demoKubelets = simulation.Kubelets{
	Bind:   simulation.Span{Min: 10 * time.Millisecond, Max: 100 * time.Millisecond},
	Begin:  simulation.Span{Min: 50 * time.Millisecond, Max: 100 * time.Millisecond},
	Ready:  simulation.Span{Min: 400 * time.Millisecond, Max: 600 * time.Millisecond},
	Stop:   simulation.Span{Min: 50 * time.Millisecond, Max: 200 * time.Millisecond},
	Broken: ":" + badImage,
}

// demo is the script on its way.
type demo struct {
	*simulation.World
	*demonstration.Play[*state]

	// mostDown and mostSurging are how many nodes had no available pod of agent,
	// and two pods of proxy, at most at a look in a rollout.
	mostDown, mostSurging int
}

// newDemo returns the demonstration, on an empty cluster in which the
// controller runs. The flags set s.
func newDemo(s *settings, flags *pflag.FlagSet, seed uint64) (*demo, error) {
	if err := demonstration.SetDefaults(flags, demoDefaults); err != nil {
		return nil, err
	}
	config := s.config()
	config.Backoff.Jitter = nil // each run is the same
	world, err := simulation.NewWorld(simulation.WorldConfig{Seed: seed, Controller: config, Kubelets: demoKubelets})
	if err != nil {
		return nil, fmt.Errorf("set up the demonstration: %w", err)
	}
	d := &demo{World: world}
	d.Play = &demonstration.Play[*state]{
		Cluster: world, Look: d.look, Glance: 100 * time.Millisecond,
		Lines: d.lines, Beat: time.Second, Picture: d.picture,
		Steps: d.script(), Pause: 1500 * time.Millisecond,
		Summarize: d.summarize,
	}
	return d, nil
}

// look reads the cluster.
func (d *demo) look() *state {
	s := &state{d.Nodes(), d.Pods(), d.Sets(), d.Revisions()}
	if step := len(d.Ends); step == firstRollout || step >= badRollout {
		d.mostDown = max(d.mostDown, len(s.nodes)-s.with("agent", isAvailable))
		d.mostSurging = max(d.mostSurging, s.surging("proxy"))
	}
	return s
}
