// Command hollow measures what examples/hollownode costs, next to kwok and the
// kubelet, on a real etcd and kube-apiserver.
//
//	go -C examples/e2e run ./hollow
//
// Each runs alone on a control plane of its own, with the same nodes and pods.
// Nodes become ready, pods come, nothing happens but heartbeats, all pods are
// deleted, and then pods come and go as fast as they can. It prints a table in
// Markdown, and its progress on standard error.
//
// With --circle it plays the life of a fleet instead, with kube-scheduler, the
// ReplicaSet controller of kube-controller-manager, and examples/nodelifecycle.
// Pods become ready, a share of the nodes falls silent, their pods are evicted
// and replaced, and the nodes return. It prints the seconds of each step. The
// exit code is 1 when a pod that stayed is ready too late, or has restarted.
//
// Of the kubelet only its API calls are counted, on ten nodes at most. Kubemark
// is the kubelet v1.37.1 with a runtime that runs nothing, a process for each
// node.
//
// The exit code is 1 when a figure is missing, and when ours costs too much:
//
//   - more CPU time or memory than kwok
//   - more API calls for a pod than the kubelet
//   - more than 1 GiB of memory, or 5 % more of it after 100,000 pods
//   - more goroutines than its workers explain
//
// The message says which. After SIGINT or SIGTERM the table has what is known.
//
// # How fair it is
//
// The script creates the nodes and binds the pods, so neither waits for a
// scheduler. Leases are renewed each 10 s by both. Neither writes Events: ours
// has --events=false. kwok has its own defaults and its own fast stages: one
// write makes a pod ready, and another removes it. Ours has the loop of a
// kubelet, which also writes that containers have ended. The containers take no
// time to start and to stop, so each is one write. The script deletes with the
// usual grace period. A pod is gone when the subject has removed it.
//
// Nothing that a subject says about itself counts. Pods are seen by a watch of
// the script, calls are read from the audit log, CPU time and memory from
// /proc. Goroutines are counted in the traces that a Go program prints when
// SIGQUIT ends it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

func main() {
	klog.SetLogger(klog.Logger{}) // client-go logs each call that the end of a part cancels
	sidebyside.Main("hollow", run)
}

// options are the flags.
type options struct {
	nodes, pods int
	rest, churn time.Duration
	subjects    []subject
	circle      bool
	silent      int // percent
	dir         string
	hollownode  string // the path of the program, empty if it is to be built
}

func parse(args []string, diagnostics io.Writer) (options, error) {
	flags := flag.NewFlagSet("hollow", flag.ContinueOnError)
	flags.SetOutput(diagnostics)
	var o options
	flags.IntVar(&o.nodes, "nodes", 0, "how `many` nodes there are (default 1000, with --circle 2000)")
	flags.IntVar(&o.pods, "pods", 0, "how `many` pods there are (default 5 for each node, with --circle 2)")
	flags.DurationVar(&o.rest, "rest", time.Minute, "how long to measure while nothing happens")
	flags.DurationVar(&o.churn, "churn", time.Minute, "how long pods come and go; with 0 they do not")
	chosen := flags.String("subject", "", "comma-separated `subjects` (default: all): "+sidebyside.Names(subjects()))
	flags.BoolVar(&o.circle, "circle", false, "play the life of a fleet instead, without kwok")
	flags.IntVar(&o.silent, "silent", 10, "how much of the nodes falls silent with --circle, in `percent`")
	flags.StringVar(&o.dir, "dir", "", "`folder` for data and logs, which stay (default: temporary ones)")
	flags.StringVar(&o.hollownode, "program", "", "`path` of hollownode (default: it is built)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.subjects, err = sidebyside.Select(subjects(), *chosen); err != nil {
		return o, fmt.Errorf("--subject: %w", err)
	}
	o.setSizes()
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("takes no arguments, got %q", flags.Args())
	case o.nodes < 1 || o.pods < 1:
		return o, fmt.Errorf("--nodes is %d and --pods is %d, want at least 1", o.nodes, o.pods)
	case o.pods > o.nodes*podsPerNode/2:
		return o, fmt.Errorf("--pods is %d, want at most %d for each node", o.pods, podsPerNode/2)
	case o.rest < time.Second || o.churn < 0 || o.churn > 0 && o.churn < shortestChurn:
		return o, fmt.Errorf("--rest is %v and --churn is %v, want at least 1s, and 0 or at least %v",
			o.rest, o.churn, shortestChurn)
	case o.silent < 1 || o.silent > 50 || o.circle && o.silenced() == 0:
		return o, fmt.Errorf("--silent is %d, want 1 to 50, and at least one node", o.silent)
	}
	return o, nil
}

// setSizes replaces the zeros.
func (o *options) setSizes() {
	nodes, podsOfNode := 1000, 5
	if o.circle {
		nodes, podsOfNode = 2000, 2
	}
	if o.nodes == 0 {
		o.nodes = nodes
	}
	if o.pods == 0 {
		o.pods = o.nodes * podsOfNode
	}
}

func run(ctx context.Context, args []string, out, diagnostics io.Writer) (err error) {
	o, err := parse(args, diagnostics)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hollow-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.circle {
		return o.playCircle(ctx, dir, out, diagnostics)
	}
	programs, err := workshop{dir, o.hollownode, diagnostics}.build(ctx, o.subjects)
	if err != nil {
		return err
	}
	t := o.compare(ctx, programs, diagnostics)
	return errors.Join(t.write(out), t.problem())
}

// compare measures one subject after the other, each with its program.
func (o options) compare(ctx context.Context, programs []program, progress io.Writer) *table {
	t := &table{options: o}
	for i, s := range o.subjects {
		p := play{options: s.sized(o), subject: s, program: programs[i], progress: progress, figures: figures{}}
		c := column{subject: s, err: errNotPlayed}
		if ctx.Err() == nil {
			if c.err = p.run(ctx); c.err != nil {
				p.say("not complete: %v", c.err)
			}
		}
		c.figures, c.load = p.figures, p.load
		t.columns = append(t.columns, c)
	}
	return t
}

// playCircle plays the circle and prints its steps, as far as it gets.
func (o options) playCircle(ctx context.Context, dir string, out, progress io.Writer) error {
	programs, err := buildCircle(ctx, dir, o.hollownode, progress)
	if err != nil {
		return err
	}
	c := &circle{options: o, programs: programs, progress: progress}
	err = c.run(ctx)
	return errors.Join(err, c.write(out), c.problem())
}
