// Package hollow measures what examples/hollownode costs, next to kwok.
//
// Nodes become ready, pods come, nothing happens but heartbeats, all pods are
// deleted, and then pods come and go as fast as they can.
//
// With --circle it plays the life of a fleet instead, with kube-scheduler, the
// ReplicaSet controller of kube-controller-manager, and examples/nodelifecycle.
// Pods become ready, a share of the nodes falls silent, their pods are evicted
// and replaced, and the nodes return. The table has the seconds of each step.
// It is a fault when a pod that stayed is ready too late, or has restarted.
//
// Ours costs too much with
//
//   - more CPU time or memory than kwok
//   - more API calls for a pod than a kubelet
//   - more than 1 GiB of memory, or 5 % more of it after 100,000 pods
//   - more goroutines than its workers explain
//
// # How fair it is
//
// The script creates the nodes and binds the pods, so neither waits for a
// scheduler. Leases are renewed each 10 s by both. Neither writes Events: ours
// has --events=false. kwok has its own defaults and its own fast stages: one
// write makes a pod ready, and another removes it. Ours has the loop of a
// kubelet, which also writes that containers have ended. The containers take no
// time to start and to stop, so each is one write. The script deletes with the
// usual grace period. A pod is gone when the subject has removed it.
//
// Pods are seen by a watch of the script. Goroutines are counted in the traces
// that a Go program prints when SIGQUIT ends it.
package hollow

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

const help = `Measures what examples/hollownode costs next to kwok, on a real API server.

  go -C examples/e2e run ./measure hollow                                  a quarter of an hour
  go -C examples/e2e run ./measure hollow --nodes 100 --subject ours
  go -C examples/e2e run ./measure hollow --circle                         the life of a fleet, without kwok
`

// Run measures hollow nodes as the flags say.
func Run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	return new(options).measurement().Run(ctx, args, out, diagnostics)
}

// options are the flags, and the paths of what the circle runs besides
// hollownode.
type options struct {
	nodes, pods int
	rest, churn time.Duration
	circle      bool
	silent      int // percent

	nodelifecycle, scheduler, controllers string
}

// A scenario is what a fleet goes through.
type scenario string

const (
	alone  scenario = "alone"
	circle scenario = "circle"
)

// Heading is that of its table.
func (s scenario) Heading() sidebyside.Heading {
	if s == circle {
		return sidebyside.Heading{Name: string(s), Title: "step", Together: "after"}
	}
	return sidebyside.Heading{Name: string(s)}
}

func (o *options) measurement() *sidebyside.Measurement[scenario, figures] {
	flags := []string{"--leader-elect=false", "--secure-port=0"}
	return &sidebyside.Measurement[scenario, figures]{
		Name: "hollow", Help: help, Scenarios: []scenario{alone},
		Subjects:    []sidebyside.Subject{sidebyside.OurSubject("hollownode", flags...), kwok()},
		Repetitions: 1, Longest: 2 * time.Hour, // and as long as pods come and go
		Flags: o.addFlags, Check: o.check, Prepare: o.prepare, Play: o.play,
		Figures: o.figures, Ratio: kwokName, Legend: func() string { return "" },
		Faults: func(f *figures, _ bool) error { return f.faults() }, Judge: o.judge,
	}
}

func (o *options) addFlags(flags *flag.FlagSet) {
	flags.IntVar(&o.nodes, "nodes", 0, "how `many` nodes there are (default 1000, with --circle 2000)")
	flags.IntVar(&o.pods, "pods", 0, "how `many` pods there are (default 5 for each node, with --circle 2)")
	flags.DurationVar(&o.rest, "rest", time.Minute, "how long to measure while nothing happens")
	flags.DurationVar(&o.churn, "churn", time.Minute, "how long pods come and go; with 0 they do not")
	flags.BoolVar(&o.circle, "circle", false, "play the life of a fleet instead, without kwok")
	flags.IntVar(&o.silent, "silent", 10, "how much of the nodes falls silent with --circle, in `percent`")
}

// mostPods of a node are half of the kubelet's default of --max-pods.
const mostPods = 55

func (o *options) check(c *sidebyside.Choice[scenario]) error {
	nodes, podsOfNode := 1000, 5
	if o.circle {
		nodes, podsOfNode = 2000, 2
		c.Scenarios = []scenario{circle}
		c.Subjects = o.measurement().Subjects[:1]
	}
	if o.nodes == 0 {
		o.nodes = nodes
	}
	if o.pods == 0 {
		o.pods = o.nodes * podsOfNode
	}
	switch {
	case o.nodes < 1 || o.pods < 1:
		return fmt.Errorf("--nodes is %d and --pods is %d, want at least 1", o.nodes, o.pods)
	case o.pods > o.nodes*mostPods:
		return fmt.Errorf("--pods is %d, want at most %d for each node", o.pods, mostPods)
	case o.rest < time.Second || o.churn < 0 || o.churn > 0 && o.churn < shortestChurn:
		return fmt.Errorf("--rest is %v and --churn is %v, want at least 1s, and 0 or at least %v",
			o.rest, o.churn, shortestChurn)
	case o.silent < 1 || o.silent > 50 || o.circle && o.silenced() == 0:
		return fmt.Errorf("--silent is %d, want 1 to 50, and at least one node", o.silent)
	}
	return nil
}

// silenced is how many nodes fall silent.
func (o *options) silenced() int { return o.nodes * o.silent / 100 }

// prepare builds what the circle needs besides hollownode.
func (o *options) prepare(ctx context.Context, dir string, progress io.Writer) (err error) {
	if !o.circle {
		return nil
	}
	if o.nodelifecycle, err = sidebyside.BuildOurs(ctx, dir, "nodelifecycle"); err != nil {
		return err
	}
	paths, err := controlplane.Build(ctx, controlplane.BuildConfig{Progress: progress},
		controlplane.KubeScheduler, controlplane.KubeControllerManager)
	o.scheduler, o.controllers = paths[controlplane.KubeScheduler], paths[controlplane.KubeControllerManager]
	return err
}

// A figure is what is measured of a fleet. In its title stand the numbers of
// the flags.
type figure struct{ title, format string }

// figures are those of a play, in the unit of their row.
type figures map[*figure]float64

var (
	nodesSeconds = &figure{"NODES nodes are ready after", "%.1f s"}
	nodesCPU     = &figure{"CPU time to make them ready", "%.2f s"}
	nodesCalls   = &figure{"API calls for each node", "%.2f"}
	upSeconds    = &figure{"PODS pods are created and ready after", "%.1f s"}
	upCPU        = &figure{"CPU time to bring them up", "%.2f s"}
	upCalls      = &figure{"API calls to bring a pod up", "%.2f"}
	restCPU      = &figure{"CPU at rest, of a core", "%.1f %%"}
	restRenewals = &figure{"calls about leases a second, at rest", "%.1f"}
	restMemory   = &figure{"resident memory at rest", "%.0f MiB"}
	endSeconds   = &figure{"all pods are deleted and gone after", "%.1f s"}
	endCPU       = &figure{"CPU time to end them", "%.2f s"}
	endCalls     = &figure{"API calls to end a pod", "%.2f"}
	churnPods    = &figure{"pods that come and go in CHURN", "%.0f"}
	churnRate    = &figure{"of them a second", "%.0f"}
	churnCPU     = &figure{"CPU time for 1,000 of them", "%.2f s"}
	churnGrowth  = &figure{"growth of resident memory meanwhile", "%+.1f %%"}
	peakMemory   = &figure{"most resident memory at any time", "%.0f MiB"}
	goroutines   = &figure{"goroutines at the end", "%.0f"}

	// Those of a circle are the seconds until a step is over.
	nodesOpen      = &figure{"NODES nodes are ready and take pods", "%.1f s"}
	podsReady      = &figure{"PODS pods of a ReplicaSet are ready, and one that stays on each node", "%.1f s"}
	nodesTainted   = &figure{"SILENCED of them silent: all of these are tainted NoExecute", "%.1f s"}
	podsEvicted    = &figure{"all their pods of the ReplicaSet are evicted", "%.1f s"}
	podsReplaced   = &figure{"as many are ready on other nodes", "%.1f s"}
	staysNotReady  = &figure{"all that stay are shown not ready", "%.1f s"}
	staysReady     = &figure{"the nodes return: all that stayed are ready again", "%.1f s"}
	evictedEnded   = &figure{"the evicted pods have ended", "%.1f s"}
	nodesUntainted = &figure{"no node has a taint", "%.1f s"}
	slowest        = &figure{"the last pod that stayed is ready, after the return of its node", "%.1f s"}
	restarts       = &figure{"restarts of their containers", "%.0f"}
)

// judged are those in which ours must be at most kwok's.
var judged = []*figure{upCPU, restCPU, restMemory, endCPU}

// figures are the rows of the table, in order. Without a churn those of the
// churn are missing.
func (o *options) figures(columns []*sidebyside.Column[scenario, figures]) []sidebyside.Figure[figures] {
	if columns[0].Scenario == circle {
		return o.rows(nodesOpen, podsReady, nodesTainted, podsEvicted, podsReplaced, staysNotReady,
			staysReady, evictedEnded, nodesUntainted, slowest, restarts)
	}
	all := []*figure{
		nodesSeconds, nodesCPU, nodesCalls, upSeconds, upCPU, upCalls, restCPU, restRenewals, restMemory,
		endSeconds, endCPU, endCalls,
	}
	if o.churn > 0 {
		all = append(all, churnPods, churnRate, churnCPU, churnGrowth)
	}
	return o.rows(append(all, peakMemory, goroutines)...)
}

func (o *options) rows(of ...*figure) (rows []sidebyside.Figure[figures]) {
	for _, f := range of {
		rows = append(rows, sidebyside.Figure[figures]{
			Title: o.title(f), Format: sidebyside.Format(f.format),
			Main: slices.Contains(judged, f), NoRatio: f == churnGrowth,
			Of: func(of *figures) (float64, bool) {
				value, known := (*of)[f]
				return value, known
			},
		})
	}
	return rows
}

func (o *options) title(f *figure) string {
	return strings.NewReplacer("NODES", sidebyside.Thousands(o.nodes), "PODS", sidebyside.Thousands(o.pods),
		"CHURN", o.churn.String(), "SILENCED", strconv.Itoa(o.silenced())).Replace(f.title)
}

const (
	// mostGrowth is what the memory of ours may grow by, in percent, over as many
	// pods as enoughPods.
	mostGrowth = 5
	enoughPods = 100_000
	// mostMemory is what ours may need, in MiB, whatever it runs.
	mostMemory = 1024
	// mostGoroutines is how many ours may have, whatever it runs. 3*32 of them are
	// the workers of --concurrent-calls, and those of a heartbeat.Sender for
	// renewals and reports. The rest is for connections, informers and whatever
	// else there is.
	mostGoroutines = 256
	// kubeletUpCalls and kubeletEndCalls are the API calls about a pod that a
	// kubelet v1.37.1 was measured to send, to bring it up and to end it. It ran
	// as kubemark's hollow node, on 2026-11-26.
	kubeletUpCalls  = 2.48
	kubeletEndCalls = 4.42
	// returnLimit is how long after the return of its node a pod that stayed may
	// take to be ready. The node restores within 7.5 s what others have written of
	// it. The rest is for the watches and calls.
	returnLimit = 10 * time.Second
)

var (
	errMissing = errors.New("missing")
	errTooMuch = errors.New("it costs too much")
	errTooLate = errors.New("it is too late")
)

// faults returns what is wrong with figures of ours.
func (f figures) faults() error {
	var problems []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	wrong(f[churnPods] >= enoughPods && f[churnGrowth] >= mostGrowth,
		"%w: memory has grown by %.1f %%, want less than %d %%", errTooMuch, f[churnGrowth], mostGrowth)
	most := max(f[restMemory], f[peakMemory])
	wrong(most > mostMemory, "%w: %.0f MiB of memory, want at most %d", errTooMuch, most, mostMemory)
	wrong(f[goroutines] > mostGoroutines,
		"%w: %.0f goroutines, want at most %d", errTooMuch, f[goroutines], mostGoroutines)
	wrong(f[upCalls] > kubeletUpCalls, "%w: API calls to bring a pod up: %.2f, and a kubelet needs %.2f",
		errTooMuch, f[upCalls], kubeletUpCalls)
	wrong(f[endCalls] > kubeletEndCalls, "%w: API calls to end a pod: %.2f, and a kubelet needs %.2f",
		errTooMuch, f[endCalls], kubeletEndCalls)
	wrong(f[slowest] > returnLimit.Seconds(),
		"%w: a pod that stayed is ready %.1f s after the return of its node, want %v", errTooLate, f[slowest], returnLimit)
	wrong(f[restarts] > 0, "%.0f containers have restarted", f[restarts])
	return errors.Join(problems...)
}

// judge returns where ours costs more than kwok.
func (o *options) judge(columns []*sidebyside.Column[scenario, figures]) error {
	ours, other := sidebyside.ColumnOf(columns, sidebyside.Ours), sidebyside.ColumnOf(columns, kwokName)
	var problems []error
	for _, f := range o.rows(judged...) {
		if ratio, known := sidebyside.Ratio(f, ours, other); known && ratio > 1 {
			problems = append(problems, fmt.Errorf("%w: %w: %s: %.2f times kwok's",
				sidebyside.ErrOursFailed, errTooMuch, f.Title, ratio))
		}
	}
	return errors.Join(problems...)
}
