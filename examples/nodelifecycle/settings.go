package main

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// settings are all flags: how the controller behaves, and how this program
// reaches a cluster and is reached.
type settings struct {
	options.Options
	process commandline.Process
}

const intro = `nodelifecycle marks nodes that have fallen silent, taints them at the rate that
the state of their zone allows, and evicts the pods that do not tolerate that.

  nodelifecycle                         a demonstration on a cluster in memory,
                                        which takes the flags of the controller
                                        and writes no log
  nodelifecycle --kubeconfig FILE       the real thing, on a cluster
  nodelifecycle --kubeconfig FILE --shadow
                                        write nothing, and compare with what
                                        kube-controller-manager does

On a cluster it replaces two controllers of kube-controller-manager, which has to
run with --controllers=*,-node-lifecycle-controller,-taint-eviction-controller.
With --shadow it runs next to them.

While it runs, --secure-port answers callers that may get these paths
  /pending            which pods have to leave when, why, and what holds them up
                      (?format=json for programs, ?limit=N for the first N)
  /doubt              why silent nodes are not declared or tainted now
  /shadow             with --shadow: what it would have done, and what happened;
                      ?format=html is a page with plots
  /metrics            Prometheus metrics; watch pod_evictions_oldest_overdue_seconds
  /healthz /readyz    for probes, to every caller
`

// name is the program's, in its requests and its lease.
const name = "nodelifecycle"

// command returns the program's command line, whose flags set s.
func command(s *settings) *process.Command {
	s.process.Name, s.process.Port = name, 10270
	return &process.Command{
		Process:  &s.process,
		Settings: &s.Options,
		Intro:    intro,
		Run: func(ctx context.Context, flags *pflag.FlagSet, out io.Writer) error {
			return start(ctx, s, flags, out)
		},
	}
}
