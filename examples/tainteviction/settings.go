package main

import (
	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/process/commandline"
	"github.com/kubelife/lifecycle/examples/process/evicting"
)

// settings are all flags.
type settings struct {
	process commandline.Process
	// Replica is APIQPS, APIBurst and LeaderElection.
	commandline.Replica
	concurrentEvictions int
	evicting            evicting.Options
}

const intro = `tainteviction makes pods leave nodes with NoExecute taints: at once those that do
not tolerate a taint, the others when the seconds of their toleration are over.

  tainteviction --kubeconfig FILE                    like kube-controller-manager
  tainteviction --kubeconfig FILE --action=dry-run   only tell, in the log
  tainteviction --kubeconfig FILE --action=evict-then-delete --budget-per-namespace=0.5
  tainteviction --kubeconfig FILE --shadow           write nothing, and compare with
                                                     what kube-controller-manager does

It replaces a controller of kube-controller-manager, which has to run with
--controllers=*,-taint-eviction-controller. Without flags it does what that one
does, but spares mirror pods. Failed evictions are tried again until the pod is gone or need not leave.

While it runs, --secure-port answers callers that may get these paths
  /pending            which pods have to leave when, why, and what holds them up
                      (?format=json for programs, ?limit=N for the first N)
  /shadow             with --shadow: what it would have done, and what happened;
                      ?format=html is a page with plots
                      (?format=json, ?limit=N)
  /metrics            Prometheus metrics; watch pod_evictions_oldest_overdue_seconds
  /healthz /readyz    for probes, to every caller
`

// AddFlags adds the program's own flags.
func (s *settings) AddFlags(flags *pflag.FlagSet) {
	flags.IntVar(&s.concurrentEvictions, "concurrent-evictions", 16, "How many evictions are under way at a time.")
	s.Replica.AddFlags(flags)
	s.evicting.AddFlags(flags)
}

// Check reports what is wrong, in the order in which AddFlags adds the flags.
func (s *settings) Check(c *commandline.Checks) {
	c.That(s.concurrentEvictions > 0, "--concurrent-evictions is %d, want at least 1", s.concurrentEvictions)
	s.Replica.Check(c)
	s.evicting.Check(c)
}
