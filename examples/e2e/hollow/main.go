// Command hollow measures what examples/hollownode costs, next to kwok, on a
// real etcd and kube-apiserver.
//
//	go -C examples/e2e run ./hollow
//
// Each runs alone on a control plane of its own, with the same nodes and pods.
// Nodes become ready, pods come, nothing happens but heartbeats, all pods are
// deleted, and then pods come and go as fast as they can. It prints a table in
// Markdown, and its progress on standard error.
//
// The exit code is 1 when ours costs more than kwok, or when a figure is
// missing. It is 1 as well when the memory of ours grows by 5 % over 100,000
// pods or more. The message says which. After SIGINT or SIGTERM the table has
// what is known.
//
// # How fair it is
//
// The script creates the nodes and binds the pods, so neither waits for a
// scheduler. Leases are renewed each 10 s by both. Neither writes Events. kwok
// has its own defaults and its own fast stages: one write makes a pod ready,
// and another removes it. Ours has the loop of a kubelet, which also writes
// that a container is being created, and that it has ended. The script deletes
// with the usual grace period. A pod is gone when the subject has removed it.
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

	"github.com/kubelife/lifecycle/examples/e2e/versus"
)

func main() { versus.Main("hollow", run) }

// options are the flags.
type options struct {
	nodes, pods int
	rest, churn time.Duration
	subjects    []subject
	dir         string
	program     string
}

func parse(args []string, diagnostics io.Writer) (options, error) {
	flags := flag.NewFlagSet("hollow", flag.ContinueOnError)
	flags.SetOutput(diagnostics)
	var o options
	flags.IntVar(&o.nodes, "nodes", 1000, "how `many` nodes there are")
	flags.IntVar(&o.pods, "pods", 0, "how `many` pods there are (default 5 for each node)")
	flags.DurationVar(&o.rest, "rest", time.Minute, "how long to measure while nothing happens")
	flags.DurationVar(&o.churn, "churn", time.Minute, "how long pods come and go; with 0 they do not")
	chosen := flags.String("subject", "", "comma-separated `subjects` (default: all): "+versus.Names(subjects()))
	flags.StringVar(&o.dir, "dir", "", "`folder` for data and logs, which stay (default: temporary ones)")
	flags.StringVar(&o.program, "program", "", "`path` of hollownode (default: it is built)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.subjects, err = versus.Select(subjects(), *chosen); err != nil {
		return o, fmt.Errorf("--subject: %w", err)
	}
	if o.pods == 0 {
		o.pods = 5 * o.nodes
	}
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
	}
	return o, nil
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
	programs, err := build(ctx, dir, o.program, diagnostics)
	if err != nil {
		return err
	}
	t := o.compare(ctx, programs, diagnostics)
	return errors.Join(t.write(out), t.problem())
}

// compare measures one subject after the other.
func (o options) compare(ctx context.Context, programs programs, progress io.Writer) *table {
	t := &table{options: o}
	for _, s := range o.subjects {
		p := play{options: o, subject: s, programs: programs, progress: progress, figures: figures{}}
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
