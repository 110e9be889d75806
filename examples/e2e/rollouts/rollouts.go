// Package rollouts measures the life of a DaemonSet on a real etcd,
// kube-apiserver and kube-scheduler. The same script runs with two controllers:
// ours (examples/daemonset), and that of kube-controller-manager, which runs
// with no other.
//
// The script creates a DaemonSet, rolls out with maxUnavailable and with
// maxSurge, and has kubectl wait and undo. Then it adds, taints, removes and
// recreates nodes. In the scenario killed the controller is killed in the middle
// of each step and started again.
//
// The table has seconds, CPU time and API calls. After each step the states are
// compared fact by fact, and each difference is a fault that is told by its
// name. In the scenario handover kube-controller-manager, ours and
// kube-controller-manager again control the set on one cluster. Each pod and
// revision that a change of the controller disturbs is a fault.
//
// The scenario trouble has steps of its own, each with its seconds and API
// calls: orphans to adopt, an API server that restarts in the middle of a
// rollout, few calls a second, many sets, and a rollout that cannot go on. It is
// a fault when ours takes more than 1.1 times as much of either.
//
// Nodes are those of package fleet. Their kubelets, in this process, report pods
// ready and let deleted ones go, at once. Pods, revisions and statuses are read
// from the API server.
package rollouts

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

const help = `Plays the life of a DaemonSet with examples/daemonset and kube-controller-manager v1.37.1 on a
real API server, and compares what both have come to after each step.

  go -C examples/e2e run ./measure rollouts                                  all but trouble: four minutes
  go -C examples/e2e run ./measure rollouts --nodes 30 --scenario killed
  go -C examples/e2e run ./measure rollouts --nodes 300 --scenario trouble    six to ten minutes

Scenarios:
  calm      nothing happens to the controller
  killed    it is killed in the middle of each step and started again
  handover  both take turns on one cluster
  trouble   orphans, an API server that restarts, few calls a second, many sets, a rollout that cannot go on;
            only if it is named
`

// Run measures rollouts as the flags say.
func Run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	return new(options).measurement().Run(ctx, args, out, diagnostics)
}

// options are the flags.
type options struct{ nodes int }

// A mode is what happens to the controller in the middle of each step.
type mode string

const (
	calm   mode = "calm"
	killed mode = "killed"
	// handover is the mode in which controllers take turns on one cluster.
	handover mode = "handover"
	// trouble is the mode with steps of its own.
	trouble mode = "trouble"
)

// scenarios are those of all modes.
func (o *options) scenarios() (all []sidebyside.Scenario) {
	for _, m := range []mode{calm, killed, handover, trouble} {
		s := sidebyside.Scenario{
			Name: string(m), Title: func() string { return "a DaemonSet rolled out, " + string(m) },
			Play: func(ctx context.Context, stage *sidebyside.Stage) (*sidebyside.Record, error) {
				return o.play(ctx, stage, m)
			},
		}
		switch m {
		case handover:
			s.Title = func() string { return "controllers take turns" }
			s.Together = "kube-controller-manager, ours and kube-controller-manager again"
		case trouble:
			s.Title, s.Named = func() string { return "a DaemonSet in trouble" }, true
		case calm, killed:
		}
		all = append(all, s)
	}
	return all
}

// The flags of all processes. The limits of requests are so high that none
// meets them. Without an election the next process works at once after a kill.
var flags = []string{
	"--leader-elect=false", "--secure-port=0", "--v=2", "--kube-api-qps=1000", "--kube-api-burst=1000",
}

var (
	ours     = sidebyside.OurSubject("daemonset", flags...)
	upstream = sidebyside.Upstream("daemonset-controller", flags...)
)

func (o *options) measurement() *sidebyside.Measurement {
	scheduler := sidebyside.Kubernetes(controlplane.KubeScheduler)
	scheduler.Args = flags
	return &sidebyside.Measurement{
		Name: "rollouts", Help: help, Scenarios: o.scenarios(),
		Subjects:    []sidebyside.Subject{ours, upstream},
		Helpers:     []sidebyside.Subject{scheduler, sidebyside.Kubernetes(controlplane.Kubectl)},
		Repetitions: 1, Longest: 20 * time.Minute, Ratios: true,
		Flags: func(flags *flag.FlagSet) { flags.IntVar(&o.nodes, "nodes", 500, "how `many` nodes there are") },
		Check: o.check, Legend: func() string { return legend },
	}
}

func (o *options) check(c *sidebyside.Choice) error {
	if o.nodes < fewestNodes {
		return fmt.Errorf("--nodes is %d, want at least %d", o.nodes, fewestNodes)
	}
	for _, s := range c.Scenarios {
		if s.Name == string(handover) && len(c.Subjects) < 2 {
			return fmt.Errorf("--scenario %s needs both subjects", s.Name)
		}
	}
	return nil
}

// record is the column of the script: the seconds of each step, and then what
// the controller has cost. Events are apart in the sum: they are lost when there
// are many, and nothing depends on them.
func (p *play) record() *sidebyside.Record {
	record := &p.steps
	record.Add("all steps", sidebyside.Seconds, p.all.Seconds())
	record.Add("CPU time of the controller", sidebyside.Format("%.2f s"), p.costs.CPU.Seconds())
	record.Add("API calls, without those about Events", sidebyside.Count, p.costs.CallsThat(isNotAboutEvents))
	record.Add("of these, which write", sidebyside.Count, p.costs.CallsThat(func(r controlplane.Request) bool {
		return isNotAboutEvents(r) && slices.Contains([]string{"create", "delete", "patch", "update"}, r.Verb)
	}))
	record.AddCalls("API calls", p.costs.Calls)
	return record
}

func isNotAboutEvents(r controlplane.Request) bool { return r.Resource != "events" }

// handoverRecord is the column of the handover.
func (p *play) handoverRecord() *sidebyside.Record {
	record := &sidebyside.Record{Told: p.disturbed}
	record.Add("pods and revisions disturbed by a change of the controller", sidebyside.Count,
		float64(len(p.disturbed))).AtMost(0)
	return record
}

const legend = `Seconds until the goal of a step is reached: each node that has to have a pod has one, which is ready, and
the status says so. CPU time is user and system, of all processes of the controller, after its start. Killed: with
SIGKILL in the middle of each step, and started again at once. In trouble API calls are those until nothing more
happens, without those about Events.
`
