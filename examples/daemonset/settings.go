package main

import (
	"github.com/spf13/pflag"
	"golang.org/x/time/rate"

	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// settings are all flags.
type settings struct {
	process commandline.Process
	// Replica is APIQPS, APIBurst and LeaderElection.
	commandline.Replica
	concurrentSyncs int
}

const intro = `daemonset gives each node that fits one pod of each DaemonSet, and rolls new
templates out.

  daemonset                                          a demonstration, on a
                                                     cluster in memory; it
                                                     writes no log
  daemonset --kubeconfig FILE                        like kube-controller-manager
  daemonset --kubeconfig FILE --kube-api-qps=100 --kube-api-burst=200
                                                     for clusters of thousands of nodes

It replaces a controller of kube-controller-manager, which has to run with
--controllers=*,-daemonset-controller. Switch that one off first: the two have
different leases, and would both act. No pod restarts when one takes over from
the other.

While it runs, --secure-port answers callers that may get these paths
  /daemonsets         each DaemonSet with its phase, counts and problems
                      (?set=NAMESPACE/NAME for why nothing happens on its nodes)
  /metrics            Prometheus metrics; watch daemonset_controller_tasks_total
  /healthz /readyz    for probes, to every caller
`

// AddFlags adds the program's own flags.
func (s *settings) AddFlags(flags *pflag.FlagSet) {
	flags.IntVar(&s.concurrentSyncs, "concurrent-daemonset-syncs", 2, "How many DaemonSets can have a full burst of 250 "+
		"requests about pods under way at a time. More DaemonSets share these in turns, so a slow one delays no other.")
	s.Replica.AddFlags(flags)
}

// Check reports what is wrong, in the order in which AddFlags adds the flags.
func (s *settings) Check(c *commandline.Checks) {
	c.That(s.concurrentSyncs > 0 && s.concurrentSyncs <= controller.MostConcurrency,
		"--concurrent-daemonset-syncs is %d, want 1 to %d", s.concurrentSyncs, controller.MostConcurrency)
	s.Replica.Check(c)
}

// config returns the controller's.
func (s *settings) config() controller.Config {
	config := controller.Config{
		Concurrency: s.concurrentSyncs,
		Requests:    controller.RequestBudget{PerSecond: rate.Limit(s.APIQPS), Burst: s.APIBurst},
	}
	config.Backoff.Jitter = process.Jitter
	return config
}
