package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// The demonstration runs the same controller as on a real cluster, with short
// times, on a cluster in memory. The nodes are those of examples/hollownode,
// and the world cuts them off. The witness and the summary see only what the
// API server stored, and know nothing of the controller. The times and versions
// are those of the API server. So a busy machine makes it neither better nor
// worse.

// demoDefaults are the flags of the demonstration, unless they are given.
var demoDefaults = map[string]string{
	"node-monitor-period":       "1s",
	"node-monitor-grace-period": "4s",
	"node-startup-grace-period": "4s",
	"node-heartbeat-interval":   "1s",
	// A pause of this process, as on a busy machine, counts in no grace period if
	// it is half of one.
	"node-blind-after":             "2s",
	"leader-elect-retry-period":    "500ms",
	"node-eviction-rate":           "1",
	"secondary-node-eviction-rate": "0.5",
	"large-cluster-size-threshold": "10",
	"kube-api-qps":                 "1000",
	"kube-api-burst":               "1000",
}

// outage is one line of the script: some nodes fall silent for a while.
type outage struct {
	title     string
	at, until time.Duration // after the start; until zero is for good
	nodes     []string
}

// script is what happens. Times are chosen so that nodes are back before the
// tolerations of their pods end, where the title says so.
func script(w *world) []outage {
	a, b, c := w.inZone("a"), w.inZone("b"), w.inZone("c")
	return []outage{
		{"a rack of zone a burns down: 3 nodes, for good", 6 * time.Second, 0, a[:3]},
		{"2 nodes of zone b reboot, and are back just in time", 7 * time.Second, 14 * time.Second, b[:2]},
		{"zone c loses power: all its 20 nodes", 15 * time.Second, 24 * time.Second, c},
		{"the network between all nodes and the API server fails", 28 * time.Second, 34 * time.Second,
			slices.Concat(a[3:], b, c)},
	}
}

const (
	demoLength = 41 * time.Second
	// demoPatience is how long after that pods that are late are waited for.
	demoPatience = 20 * time.Second
)

// demonstrate plays the script and returns an error if the summary does not
// hold.
func demonstrate(ctx context.Context, s *settings, out io.Writer) error {
	return demonstrateOn(ctx, memory.NewCluster(), s, out)
}

func demonstrateOn(ctx context.Context, cluster *memory.Cluster, s *settings, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w, err := newWorld(ctx, cluster)
	if err != nil {
		return fmt.Errorf("set up the cluster: %w", err)
	}
	client := cluster.NewClient()
	l, err := newLifecycle(ctx, s, process.Clients{Acting: client, Watching: client, Recording: cluster.NewClient()})
	if err != nil {
		return err
	}
	defer l.events.stop()
	seen := newWitness(cluster)
	show := &view{screen: demonstration.NewScreen(out), witness: seen, lifecycle: l}
	judge := func() *verdict { return newHistory(cluster, time.Now()).judge(rulesOf(&s.Options), w.history()) }

	err = process.Together(ctx,
		w.run,
		func(ctx context.Context) error { l.Observe(ctx, func() {}); return nil },
		l.Act,
		func(ctx context.Context) error {
			process.Probe(ctx, cluster.NewClient(), s.LeaderElection.RetryPeriod, l.sighted)
			return nil
		},
		func(ctx context.Context) error {
			defer stop()
			w.play(ctx, script(w), show)
			awaitLate(ctx, judge)
			return nil
		},
	)
	if err != nil || !w.over() {
		return err
	}
	return judge().print(out, client.Requests())
}

// awaitLate waits for pods that are late, but not for ever. On a machine that
// is too busy they are late, and only one that never leaves is lost.
func awaitLate(ctx context.Context, judge func() *verdict) {
	ctx, stop := context.WithTimeout(ctx, demoPatience)
	defer stop()
	for len(judge().missing) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}
