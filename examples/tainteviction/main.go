// Command tainteviction is a taint eviction controller made of the lifecycle
// library. It evicts pods from nodes whose NoExecute taints they do not
// tolerate, or tolerate no longer, and does nothing else.
//
// It does the work of kube-controller-manager's taint-eviction-controller,
// which has to be switched off there. What sets the taints does not matter: an
// administrator, kube-controller-manager's node-lifecycle-controller, or
// another.
//
// # Differences from kube-controller-manager
//
// Package eviction lists its own. Compared with v1.37.1, the program adds:
//
//   - Mirror pods are spared, unless --spare-mirror-pods is false. There those
//     that do not tolerate a taint are evicted, and their kubelet makes them
//     again. Kubelets make static pods tolerate all NoExecute taints.
package main

import (
	"context"
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

// command returns the program's command line, whose flags set s.
func command(s *settings) *process.Command {
	s.process.Name, s.process.Port = "tainteviction", 10271
	return &process.Command{
		Process:  &s.process,
		Settings: s,
		Intro:    intro,
		Run: func(ctx context.Context, _ *pflag.FlagSet, out io.Writer) error {
			config, found, err := process.RESTConfig(&s.process, &s.Replica)
			if err != nil {
				return err
			}
			if s.process.Shadow && s.evicting.Action == evicting.DryRun {
				return shadow.ErrDryRun
			}
			if !found {
				return process.ErrNoCluster
			}
			return program(s, out).Run(ctx, config)
		},
	}
}
