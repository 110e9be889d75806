package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// The demonstration runs the same controller as on a real cluster, on a cluster
// in memory. Its world plays the users and the scheduler, and its nodes are
// those of examples/hollownode. Its witness and its summary know nothing of the
// controller. They see only what the API server stored, in the order in which
// it was stored. So a busy machine makes it slower, and neither better nor
// worse.

// demoDefaults are the flags of the demonstration, unless they are given.
var demoDefaults = map[string]string{"kube-api-qps": "1000", "kube-api-burst": "1000"}

// demoPatience is how long a step of the script may take. Only a controller
// that is stuck needs that long.
const demoPatience = time.Minute

// demonstrate plays the script and returns an error if the summary does not
// hold.
func demonstrate(ctx context.Context, s *settings, out io.Writer) error {
	cluster := memory.NewCluster()
	return demonstrateOn(ctx, cluster, cluster.NewClient(), s, demonstration.NewScreen(out, demonstration.NewClock().Elapsed), out)
}

// demonstrateOn is demonstrate on a cluster that is empty. The controller acts
// through a client of its own.
func demonstrateOn(ctx context.Context, cluster *memory.Cluster, client *memory.Client, s *settings,
	screen *demonstration.Screen, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	events := process.NewEventsOf(ctx, &s.process, cluster.NewClient())
	defer events.Stop()
	m, err := newManager(ctx, s, clientsOf(client, cluster), events.Recorder(component), prometheus.NewRegistry())
	if err != nil {
		return err
	}
	w, err := newWorld(cluster)
	if err != nil {
		return err
	}
	steps := script(w)
	p := &play{
		world: w, steps: steps, view: &view{screen: screen, steps: len(steps)},
		stored: reader{cluster: cluster}, seen: newState(),
	}
	ready := make(chan struct{})
	err = process.Together(ctx,
		w.run,
		func(ctx context.Context) error { m.Observe(ctx, func() { close(ready) }); return nil },
		func(ctx context.Context) error {
			select {
			case <-ready:
				return m.Act(ctx)
			case <-ctx.Done():
				return nil
			}
		},
		func(ctx context.Context) error {
			defer stop()
			return p.run(ctx)
		},
	)
	if err != nil || !p.over {
		return err
	}
	return newHistory(cluster).judge(steps, p.marks).print(out, client.Requests())
}

func clientsOf(client *memory.Client, cluster *memory.Cluster) process.Clients {
	return process.Clients{
		Acting: client, Watching: client, Recording: cluster.NewClient(), Electing: cluster.NewClient(),
	}
}

// play is the script on its way.
type play struct {
	world *world
	steps []step
	view  *view

	stored  reader
	seen    *state
	version uint64   // the last one in seen
	marks   []uint64 // the last version of each step that was played
	over    bool     // the script ended, not the context
}

const (
	// demoGlance is how often the play reads the cluster.
	demoGlance = 100 * time.Millisecond
	// demoPause is how long a step that has ended stays in view. What the
	// controller does in it is part of the step.
	demoPause = 1500 * time.Millisecond
)

// run plays the steps, each until the cluster is as the step wants it. It ends
// after the first one that does not get there.
func (p *play) run(ctx context.Context) error {
	for i, step := range p.steps {
		p.view.say(i, step)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, step.title, err)
		}
		reached := p.await(ctx, step)
		if !p.pause(ctx, demoPause+step.pause) {
			return nil
		}
		p.marks = append(p.marks, p.version)
		if !reached {
			break
		}
	}
	p.over = true
	return nil
}

// await reports whether the cluster became as a step wants it.
func (p *play) await(ctx context.Context, step step) bool {
	for until := time.Now().Add(demoPatience); ctx.Err() == nil; sleep(ctx, demoGlance) {
		p.see()
		if len(p.seen.differences(step.want)) == 0 {
			return true
		}
		if time.Now().After(until) {
			break
		}
	}
	return false
}

// pause shows the cluster for a while. It reports false if ctx ends before.
func (p *play) pause(ctx context.Context, length time.Duration) bool {
	for until := time.Now().Add(length); ctx.Err() == nil; sleep(ctx, demoGlance) {
		if p.see(); !time.Now().Before(until) {
			return true
		}
	}
	return false
}

// see takes in what has been stored, and shows it.
func (p *play) see() {
	for _, change := range p.stored.next() {
		p.seen.see(change.Object, change.Deleted)
		p.version = max(p.version, change.Version)
	}
	p.view.show(p.seen)
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
