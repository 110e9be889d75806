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
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
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

// options are the flags, and the programs of the circle.
type options struct {
	nodes, pods int
	rest, churn time.Duration
	circle      bool
	silent      int // percent
	programs    circlePrograms
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
	case o.pods > o.nodes*podsPerNode/2:
		return fmt.Errorf("--pods is %d, want at most %d for each node", o.pods, podsPerNode/2)
	case o.rest < time.Second || o.churn < 0 || o.churn > 0 && o.churn < shortestChurn:
		return fmt.Errorf("--rest is %v and --churn is %v, want at least 1s, and 0 or at least %v",
			o.rest, o.churn, shortestChurn)
	case o.silent < 1 || o.silent > 50 || o.circle && o.silenced() == 0:
		return fmt.Errorf("--silent is %d, want 1 to 50, and at least one node", o.silent)
	}
	return nil
}

const (
	kwokName = "kwok"
	// It is not required by go.mod, which would get its requirements.
	kwokModule  = "sigs.k8s.io/kwok"
	kwokVersion = "v0.8.0"

	kwokProgram controlplane.Binary = kwokModule + "/cmd/kwok"
)

// kwokStages say what kwok writes: files of its own repository. They are the
// fast ones of pods and nodes, and the report of a node each 10 minutes.
func kwokStages() []string {
	return []string{
		"kustomize/stage/pod/fast/pod-ready.yaml",
		"kustomize/stage/pod/fast/pod-complete.yaml",
		"kustomize/stage/pod/fast/pod-delete.yaml",
		"kustomize/stage/node/fast/node-initialize.yaml",
		"kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
	}
}

func kwok() sidebyside.Subject {
	return sidebyside.Subject{
		Name: kwokName, Title: "kwok " + kwokVersion,
		Args: []string{"--manage-all-nodes", "--node-lease-duration-seconds=40"},
		Build: func(ctx context.Context, dir string, progress io.Writer) (p sidebyside.Program, err error) {
			config := controlplane.BuildConfig{Progress: progress}
			if p.Path, err = controlplane.Install(ctx, config, kwokProgram, kwokVersion); err != nil {
				return p, err
			}
			source, err := moduleSource(ctx, dir, kwokModule+"@"+kwokVersion)
			for _, stage := range kwokStages() {
				p.Args = append(p.Args, "--config="+filepath.Join(source, filepath.FromSlash(stage)))
			}
			return p, err
		},
	}
}

// moduleSource returns the folder of a module in Go's cache.
func moduleSource(ctx context.Context, dir, module string) (string, error) {
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	download.Dir = dir // outside of this module, whose go.mod must not change
	out, err := download.Output()
	if err != nil {
		return "", fmt.Errorf("download %s: %w\n%s", module, err, out)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("download %s: %w", module, err)
	}
	return found.Dir, nil
}

// prepare builds what the circle needs besides hollownode.
func (o *options) prepare(ctx context.Context, dir string, progress io.Writer) (err error) {
	if !o.circle {
		return nil
	}
	if o.programs.nodelifecycle, err = sidebyside.BuildOurs(ctx, dir, "nodelifecycle"); err != nil {
		return err
	}
	paths, err := controlplane.Build(ctx, controlplane.BuildConfig{Progress: progress},
		controlplane.KubeScheduler, controlplane.KubeControllerManager)
	o.programs.scheduler = paths[controlplane.KubeScheduler]
	o.programs.controllers = paths[controlplane.KubeControllerManager]
	return err
}

// play plays on a cluster with nodes, which nothing runs yet.
func (o *options) play(ctx context.Context, p *sidebyside.Play[scenario]) (f *figures, err error) {
	nodes, err := newCluster(ctx, p.Stage, o.nodes)
	if err != nil {
		return nil, err
	}
	defer nodes.stop()
	measured := figures{}
	if p.Scenario == circle {
		err = (&life{options: o, cluster: nodes, figures: measured}).run(ctx)
	} else {
		err = (&play{options: o, cluster: nodes, figures: measured}).run(ctx)
	}
	return &measured, err
}

var (
	errMissing = errors.New("missing")
	errTooMuch = errors.New("it costs too much")
	errTooLate = errors.New("it is too late")
)
