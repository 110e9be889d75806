// Command rollouts plays the life of a DaemonSet on a real etcd, kube-apiserver
// and kube-scheduler. The same script runs with two controllers, each on a
// cluster of its own. They are ours (examples/daemonset), and that of
// kube-controller-manager, which runs with no other.
//
//	go -C examples/e2e run ./rollouts
//
// It creates a DaemonSet, rolls out with maxUnavailable and with maxSurge, and
// has kubectl wait and undo. Then it adds, taints, removes and recreates nodes.
// In mode killed the controller is killed in the middle of each step and
// started again.
//
// It prints a table in Markdown, and its progress on standard error. The table
// has seconds, CPU time and API calls. After each step the states are compared
// by package state, and each difference is printed by its name. In mode
// handover kube-controller-manager, ours and kube-controller-manager again
// control the set on one cluster. Each pod and revision that a change of the
// controller disturbs is printed.
//
// The exit code is 1 if there is a difference, or if something could not be
// played. The message says which. After SIGINT or SIGTERM the table has what is
// known.
//
// # How fair it is
//
// Both get the same control plane, nodes and limits of requests, and run one
// after the other. Nodes are plain objects. Their kubelets, in this process,
// report pods ready and let deleted ones go, at once. Nothing that a controller
// says about itself counts. Pods, revisions and statuses are read from the API
// server, calls from its audit log, and CPU time from the system.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

func main() { sidebyside.Main("rollouts", run) }

// options are the flags.
type options struct {
	nodes int
	modes []mode
	dir   string
}

// FlagName is what --mode calls it.
func (m mode) FlagName() string { return string(m) }

func modes() []mode { return []mode{calm, killed, handover} }

func parse(args []string, diagnostics io.Writer) (options, error) {
	flags := flag.NewFlagSet("rollouts", flag.ContinueOnError)
	flags.SetOutput(diagnostics)
	var o options
	flags.IntVar(&o.nodes, "nodes", 500, "how `many` nodes there are")
	chosen := flags.String("mode", "", "comma-separated `modes` (default: all): "+sidebyside.Names(modes()))
	flags.StringVar(&o.dir, "dir", "", "`folder` for data and logs, which stay (default: temporary ones)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("takes no arguments, got %q", flags.Args())
	}
	if o.nodes < fewestNodes {
		return o, fmt.Errorf("--nodes is %d, want at least %d", o.nodes, fewestNodes)
	}
	var err error
	if o.modes, err = sidebyside.Select(modes(), *chosen); err != nil {
		return o, fmt.Errorf("--mode: %w", err)
	}
	return o, nil
}

func run(ctx context.Context, args []string, out, diagnostics io.Writer) (err error) {
	o, err := parse(args, diagnostics)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rollouts-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	programs, err := build(ctx, dir, diagnostics)
	if err != nil {
		return err
	}
	var problems []error
	if t := o.playAll(ctx, programs, diagnostics); len(t.columns) > 0 {
		problems = append(problems, t.write(out), t.problem())
	}
	if slices.Contains(o.modes, handover) {
		problems = append(problems, o.handOver(ctx, programs, out, diagnostics))
	}
	return errors.Join(problems...)
}

// playAll plays the script in each mode with each subject, one after the other.
func (o options) playAll(ctx context.Context, programs programs, progress io.Writer) *table {
	t := &table{steps: script(o.nodes)}
	for _, m := range o.modes {
		if m == handover {
			continue
		}
		for _, s := range []subject{ours, upstream} {
			c := column{mode: m, subject: s, err: errNotPlayed}
			if ctx.Err() == nil {
				one := play{mode: m, subject: s, nodes: o.nodes, programs: programs, dir: o.dir, progress: progress}
				if c.result, c.err = one.run(ctx); c.err != nil {
					one.say("not judged: %v", c.err)
				}
			}
			t.columns = append(t.columns, c)
		}
	}
	t.compare()
	return t
}

// handOver plays the third mode and prints its result.
func (o options) handOver(ctx context.Context, programs programs, out, progress io.Writer) error {
	p := play{mode: handover, nodes: o.nodes, programs: programs, dir: o.dir, progress: progress}
	disturbed, err := p.handOver(ctx)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", sidebyside.ErrIncomplete, handover, err)
	}
	fmt.Fprintf(out, "\nkube-controller-manager, ours and kube-controller-manager again on one cluster of %d nodes:\n"+
		"%d pods and revisions are disturbed by a change of the controller\n", o.nodes, len(disturbed))
	for _, line := range disturbed {
		fmt.Fprintf(out, "- %s\n", line)
	}
	if len(disturbed) > 0 {
		return fmt.Errorf("%w (pods and revisions that are disturbed: %d)", errDiffer, len(disturbed))
	}
	return nil
}
