// Command nodelifecycle is a node lifecycle and taint eviction controller made
// of the lifecycle library. It marks nodes that have fallen silent, and taints
// them at a rate that depends on how disrupted their zone is. It evicts the
// pods that do not tolerate that.
//
// With --kubeconfig or in a cluster it does the work of
// kube-controller-manager's node-lifecycle-controller and
// taint-eviction-controller, which have to be switched off there. With neither
// it demonstrates that on a cluster in memory.
package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/evicting"
	"github.com/kubelife/lifecycle/examples/process/shadow"
)

func main() { process.Main(run) }

func run(ctx context.Context, args []string, out, diagnostics io.Writer) int {
	return command(new(settings)).Execute(ctx, args, out, diagnostics)
}

// errNoCluster says that there is nothing for a shadow to stand next to.
var errNoCluster = errors.New("no cluster for --shadow: give --kubeconfig or --master, or run in a cluster")

// start runs the controller on a cluster if there is one, else the
// demonstration.
func start(ctx context.Context, s *settings, flags *pflag.FlagSet, out io.Writer) error {
	config, found, err := process.RESTConfig(&s.process, &s.Replica)
	if err != nil {
		return err
	}
	if s.process.Shadow && s.Evicting.Action == evicting.DryRun {
		return shadow.ErrDryRun
	}
	if found {
		return program(s, out).Run(ctx, config)
	}
	if s.process.Shadow {
		return errNoCluster
	}
	played, err := newCluster(flags, 0)
	if err != nil {
		return err
	}
	return newDemo(played, judged(played)).Demonstrate(ctx, out)
}
