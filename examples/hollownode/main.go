// Command hollownode runs the kubelets of thousands of nodes in one process.
// Their containers run nothing. Pods are admitted, synced, probed, restarted
// and finished as on real nodes, and nodes send heartbeats. What is not here is
// a list of package examples/hollownode/kubelet, for example eviction by
// pressure and graceful shutdown.
//
// With --pod-manifest-path each node runs static pods as well. Mirror pods show
// them in the API.
//
// Each part of it can be made to fail by annotations of Nodes and Pods, which
// kubectl sets.
//
// With --kubeconfig or in a cluster it works there. With neither it
// demonstrates that on a cluster in memory.
//
// # Differences from the kubelet
//
// Package examples/hollownode/kubelet lists those of the loop. Of the program:
//
//   - One watch of all bound pods serves all nodes. There each kubelet has its
//     own. With --list-per-node a start of a kubelet also has its pods streamed
//     as there, for the load, and the stream then ends. There it goes on. A
//     kubelet also streams its Node and PodCertificateRequests, and all
//     Services, RuntimeClasses and CSIDrivers, which are not here.
//   - A clock that is wrong by a fault shows in the lease and in the conditions
//     of the Node only. The statuses of pods have the right time, because a
//     start of the process reads them.
//   - A Node that is there when a node registers is left as it is, if it is of
//     the fleet. There its default labels and its extended resources are
//     reconciled, and a report sets the rest here as well.
//   - One identity acts for all nodes, so NodeRestriction does not apply to it.
//   - Metrics are those of the fleet, see package examples/hollownode/metrics.
//     There are none with the kubelet's names.
//   - --event-qps and --event-burst hold for all nodes together, and
//     --events=false turns events off. There each kubelet has its own limit.
//   - Events have the time of this process, whatever the clock of their node.
//   - A file among the manifests that is wrong keeps all static pods as they
//     were, and ends the program when it starts. There only its pod goes.
//   - A file may have several pods. One that depends on other objects of the API
//     is not refused, and does not wait for them.
//   - Garbage is collected when memory has grown by half, unless GOGC is set.
//   - No kubelet listens: kubectl logs and kubectl exec are refused.
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
	s.process.Name, s.process.Port = "hollownode", 10274
	s.process.WithoutShadow = "what a kubelet does depends on the containers that it has started"
	s.replica.APIQPS = -1 // kubelets have a limit each, which no node here comes near, except for events
	return &process.Command{
		Process:  &s.process,
		Settings: s,
		Intro:    intro,
		Run: func(ctx context.Context, flags *pflag.FlagSet, out io.Writer) error {
			return start(ctx, s, flags, out)
		},
	}
}

// start runs the fleet on a cluster if there is one, else the demonstration.
func start(ctx context.Context, s *settings, flags *pflag.FlagSet, out io.Writer) error {
	config, found, err := process.RESTConfig(&s.process, &s.replica)
	if err != nil {
		return err
	}
	if found {
		collectGarbage()
		return program(s).Run(ctx, config)
	}
	d, err := newDemo(s, flags, 0)
	if err != nil {
		return err
	}
	return d.Demonstrate(ctx, out)
}
