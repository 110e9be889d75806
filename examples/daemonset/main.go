// Command daemonset is a DaemonSet controller made of the lifecycle library. It
// gives each node that fits one pod of each DaemonSet, rolls templates out, and
// keeps their history.
//
// It does the work of kube-controller-manager's daemonset-controller, which has
// to be switched off there with --controllers=*,-daemonset-controller. Taking
// over from it and handing back restarts no pod.
//
// With --kubeconfig or in a cluster it works there. With neither it
// demonstrates that on a cluster in memory.
//
// # Next to kube-controller-manager
//
// The measurement examples/e2e/rollouts plays the same script with both, on real
// control planes. It creates, rolls out, undoes and changes nodes, and does so
// again while the controller is killed in each step. It compares pods, statuses
// and revisions after each step. The README of examples/e2e has its table of
// calls, CPU time and seconds.
//
// # Differences from kube-controller-manager
//
// Packages daemon/rollout and examples/daemonset/controller list theirs. Compared with
// v1.37.1, the program adds:
//
//   - Its leader's lease has a name of its own, daemonset. There one lease is
//     for all controllers. So --leader-elect does not keep the two from acting
//     at the same time. Switch the other one off first.
//   - --concurrent-daemonset-syncs bounds the requests that are under way, 250
//     for each set that it counts, and sets share them in turns. There it is
//     the number of sets that are synced at a time.
//   - The metrics workqueue_* are not served, because there is no workqueue.
//     daemonset_controller_sets_waiting shows what waits.
//   - A set that waits for a correction of its spec has an Event that says why,
//     RolloutStopped or InvalidSpec, and counts in
//     daemonset_controller_sets_stopped. There nothing says so.
//   - daemonset_controller_stale_sync_skips_total counts plans for a history
//     that the API server has in a newer version. Pods and sets are never
//     skipped: own writes count before the watch shows them.
package main

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/process"
)

func main() { process.Main(run) }

func run(ctx context.Context, args []string, out, diagnostics io.Writer) int {
	return command(new(settings)).Execute(ctx, args, out, diagnostics)
}

// command returns the program's command line, whose flags set s.
func command(s *settings) *process.Command {
	s.process.Name, s.process.Port = "daemonset", 10272
	s.process.WithoutShadow = "what it plans depends on the pods that it has created"
	return &process.Command{
		Process:  &s.process,
		Settings: s,
		Intro:    intro,
		Run: func(ctx context.Context, flags *pflag.FlagSet, out io.Writer) error {
			return start(ctx, s, flags, out)
		},
	}
}

// start runs the controller on a cluster if there is one, else the
// demonstration.
func start(ctx context.Context, s *settings, flags *pflag.FlagSet, out io.Writer) error {
	config, found, err := process.RESTConfig(&s.process, &s.Replica)
	if err != nil {
		return err
	}
	if found {
		return program(s).Run(ctx, config)
	}
	d, err := newDemo(s, flags, 0)
	if err != nil {
		return err
	}
	return d.Demonstrate(ctx, out)
}
