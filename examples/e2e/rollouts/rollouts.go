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
// Nodes are those of package fleet. Their kubelets, in this process, report pods
// ready and let deleted ones go, at once. Pods, revisions and statuses are read
// from the API server.
package rollouts

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

const help = `Plays the life of a DaemonSet with examples/daemonset and kube-controller-manager v1.37.1 on a
real API server, and compares what both have come to after each step.

  go -C examples/e2e run ./measure rollouts                                  all: four minutes
  go -C examples/e2e run ./measure rollouts --nodes 30 --scenario killed

Scenarios:
  calm      nothing happens to the controller
  killed    it is killed in the middle of each step and started again
  handover  both take turns on one cluster
`

// Run measures rollouts as the flags say.
func Run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	return new(options).measurement().Run(ctx, args, out, diagnostics)
}

// options are the flags, and the paths of what plays run besides controllers.
type options struct {
	nodes              int
	scheduler, kubectl string
}

// A mode is what happens to the controller in the middle of each step.
type mode string

const (
	calm   mode = "calm"
	killed mode = "killed"
	// handover is the mode in which controllers take turns on one cluster.
	handover mode = "handover"
)

// Heading is that of its columns. Those of the script share a table.
func (m mode) Heading() sidebyside.Heading {
	if m == handover {
		return sidebyside.Heading{
			Name: string(m), Title: "controllers take turns",
			Together: "kube-controller-manager, ours and kube-controller-manager again",
		}
	}
	return sidebyside.Heading{Name: string(m), Title: string(m), Table: "a DaemonSet rolled out"}
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

func (o *options) measurement() *sidebyside.Measurement[mode, result] {
	return &sidebyside.Measurement[mode, result]{
		Name: "rollouts", Help: help, Scenarios: []mode{calm, killed, handover},
		Subjects: []sidebyside.Subject{ours, upstream}, Repetitions: 1, Longest: 20 * time.Minute,
		Flags: func(flags *flag.FlagSet) { flags.IntVar(&o.nodes, "nodes", 500, "how `many` nodes there are") },
		Check: o.check, Prepare: o.prepare, Play: o.play,
		Figures: o.figures, Legend: func() string { return legend }, Faults: faults, Judge: judge, Tell: tell,
	}
}

func (o *options) check(c *sidebyside.Choice[mode]) error {
	if o.nodes < fewestNodes {
		return fmt.Errorf("--nodes is %d, want at least %d", o.nodes, fewestNodes)
	}
	for _, m := range c.Scenarios {
		if m == handover && len(c.Subjects) < 2 {
			return fmt.Errorf("--scenario %s needs both subjects", m)
		}
	}
	return nil
}

func (o *options) prepare(ctx context.Context, _ string, progress io.Writer) error {
	paths, err := controlplane.Build(ctx, controlplane.BuildConfig{Progress: progress},
		controlplane.KubeScheduler, controlplane.Kubectl)
	o.scheduler, o.kubectl = paths[controlplane.KubeScheduler], paths[controlplane.Kubectl]
	return err
}

// A result is what a play has come to.
type result struct {
	steps []stepResult
	// calls are the requests of the controller, by verb. Those about Events are
	// apart: they are lost when there are many, and nothing depends on them. It is
	// nil until they are counted.
	calls map[string]int
	// cpu is what the processes of the controller have used.
	cpu time.Duration
	// disturbed are the pods and revisions that a change of the controller has
	// disturbed.
	disturbed []string
}

// events is the key of calls about Events.
const events = "events"

type stepResult struct {
	name  string
	took  time.Duration
	facts facts
}

// figures are the rows of the script, or of the handover.
func (o *options) figures(columns []*sidebyside.Column[mode, result]) []sidebyside.Figure[result] {
	if columns[0].Scenario == handover {
		return []sidebyside.Figure[result]{{
			Title: "pods and revisions disturbed by a change of the controller", Format: sidebyside.Count, Fault: true,
			Of: func(r *result) (float64, bool) { return float64(len(r.disturbed)), true },
		}}
	}
	var rows []sidebyside.Figure[result]
	for i, s := range (&play{options: o}).steps() {
		rows = append(rows, sidebyside.Figure[result]{
			Title: s.title, Format: sidebyside.Seconds,
			Of: func(r *result) (float64, bool) {
				if i >= len(r.steps) {
					return 0, false
				}
				return r.steps[i].took.Seconds(), true
			},
		})
	}
	// What follows is known when all steps are over.
	row := func(title string, format func(float64) string, of func(*result) float64) {
		rows = append(rows, sidebyside.Figure[result]{
			Title: title, Format: format, Main: true,
			Of: func(r *result) (float64, bool) { return of(r), r.calls != nil },
		})
	}
	calls := func(title string, verbs ...string) {
		row(title, sidebyside.Count, func(r *result) (total float64) {
			for _, verb := range verbs {
				total += float64(r.calls[verb])
			}
			return total
		})
	}
	row("all steps", sidebyside.Seconds, func(r *result) (total float64) {
		for _, s := range r.steps {
			total += s.took.Seconds()
		}
		return total
	})
	row("CPU time of the controller", sidebyside.Format("%.2f s"), func(r *result) float64 { return r.cpu.Seconds() })
	writes := []string{"create", "delete", "patch", "update"}
	for _, verb := range writes {
		calls("API calls: "+verb, verb)
	}
	calls("API calls: all four, which write", writes...)
	for _, verb := range []string{"get", "list", "watch"} {
		calls("API calls: "+verb, verb)
	}
	calls("API calls about Events", events)
	return rows
}

const legend = `Seconds until the goal of a step is reached: each node that has to have a pod has one, which is ready, and the status
says so. CPU time is user and system, of all processes of the controller, after its start. Killed: with SIGKILL in the
middle of each step, and started again at once.
`

// errDiffer means that the subjects have come to different states, or that one
// has disturbed what it took over.
var errDiffer = errors.New("the subjects differ")

func faults(r *result, _ bool) error {
	if len(r.disturbed) > 0 {
		return fmt.Errorf("%w (pods and revisions that are disturbed: %d)", errDiffer, len(r.disturbed))
	}
	return nil
}

// judge returns an error when the subjects have come to different states.
func judge(columns []*sidebyside.Column[mode, result]) error {
	if _, n := differences(columns); n > 0 {
		return fmt.Errorf("%w: %w (differences: %d)", sidebyside.ErrOursFailed, errDiffer, n)
	}
	return nil
}

// tell returns the differences, and what was disturbed.
func tell(columns []*sidebyside.Column[mode, result]) []string {
	lines, _ := differences(columns)
	for _, c := range columns {
		for _, r := range c.Records {
			lines = append(lines, r.disturbed...)
		}
	}
	return lines
}

// mostDifferences is how many of a step are listed.
const mostDifferences = 20

// differences returns those between the plays of each mode, each with its name,
// as far as they are listed, and how many there are.
func differences(columns []*sidebyside.Column[mode, result]) (lines []string, n int) {
	for i, b := range columns {
		if i == 0 || b.Scenario != columns[i-1].Scenario {
			continue
		}
		a := columns[i-1]
		for k := range min(len(a.Records), len(b.Records)) {
			for s, step := range b.Records[k].steps {
				found := compare(a.Records[k].steps[s].facts, step.facts)
				n += len(found)
				where := fmt.Sprintf("%s, %s", b.Scenario, step.name)
				for _, d := range found[:min(len(found), mostDifferences)] {
					lines = append(lines, fmt.Sprintf("%s: %s: %s with %s, %s with %s",
						where, d.fact, d.a, a.Subject.Name, d.b, b.Subject.Name))
				}
				if more := len(found) - mostDifferences; more > 0 {
					lines = append(lines, fmt.Sprintf("%s: %d more", where, more))
				}
			}
		}
	}
	return lines, n
}
