// Command rest measures what examples/nodelifecycle costs while nothing happens
// except heartbeats, on a real etcd and kube-apiserver.
//
//	go -C examples/e2e run ./rest
//
// Next to it runs a program with the same informers, transforms, encoding,
// compression and leader election, and nothing else. Both watch the same fleet
// of nodes at the same time, so they bear the same load, of the machine as
// well. The command prints the CPU time of each, user and system, and their
// ratio. All of it takes about ten minutes on two cores. A program that ends
// early, SIGINT and SIGTERM leave parts unmeasured: these say so, and the
// others are printed. The exit code is 1 when the ratio is above --most, or
// when the table is incomplete; the message says which.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

func main() {
	klog.SetLogger(klog.Logger{}) // the fleet logs each beat that fails
	sidebyside.Main("rest", run)
}

// options are the flags.
type options struct {
	nodes, pods           int
	beat, settle, measure time.Duration
	most                  float64
	program               string
}

func parse(args []string, diagnostics io.Writer) (options, error) {
	flags := flag.NewFlagSet("rest", flag.ContinueOnError)
	flags.SetOutput(diagnostics)
	var o options
	flags.IntVar(&o.nodes, "nodes", 5000, "how `many` nodes beat")
	flags.IntVar(&o.pods, "pods", 1, "how `many` pods each node has")
	flags.DurationVar(&o.beat, "beat", 10*time.Second, "how far apart the heartbeats of a node are")
	flags.DurationVar(&o.settle, "settle", time.Minute, "how long to wait before the measurement")
	flags.DurationVar(&o.measure, "for", 5*time.Minute, "how long to measure")
	flags.Float64Var(&o.most, "most", 1.15, "the ratio above which the exit code is 1")
	flags.StringVar(&o.program, "program", "",
		"`path` of nodelifecycle (default: it is built)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("takes no arguments, got %q", flags.Args())
	case o.nodes < 1 || o.pods < 0:
		return o, fmt.Errorf("--nodes is %d and --pods is %d, want at least 1 and 0", o.nodes, o.pods)
	case o.beat <= 0 || o.settle < 0 || o.measure < parts*time.Second:
		return o, fmt.Errorf("--beat is %v, --settle is %v, --for is %v, want at least 1ns, 0 and %ds",
			o.beat, o.settle, o.measure, parts)
	}
	return o, nil
}

var errTooMuch = errors.New("ours costs too much at rest")

func run(ctx context.Context, args []string, out, diagnostics io.Writer) (err error) {
	o, err := parse(args, diagnostics)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rest-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	programs, err := build(ctx, dir, o.program)
	if err != nil {
		return err
	}
	plane, err := controlplane.Start(ctx, controlplane.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	w := &world{plane: plane, options: o, progress: diagnostics}
	figures, err := w.run(ctx, programs)
	if figures == nil {
		return err // nothing was measured
	}
	return errors.Join(figures.write(out), figures.problem(), o.judge(figures), err)
}

// judge returns an error when the ratio, as far as it is known, is too large.
func (o options) judge(f *figures) error {
	if ratio, known := f.ratio(); known && ratio > o.most {
		return fmt.Errorf("%w: the ratio is %.3f, want at most %.2f", errTooMuch, ratio, o.most)
	}
	return nil
}

// world is a control plane with nodes that beat.
type world struct {
	options
	plane    *controlplane.ControlPlane
	progress io.Writer
	client   kubernetes.Interface
	beats    atomic.Int64
}

func (w *world) run(ctx context.Context, programs [subjects]string) (*figures, error) {
	var err error
	if w.client, err = sidebyside.ProtobufClient(w.plane.RESTConfig(), "rest"); err != nil {
		return nil, err
	}
	w.say("%d nodes register", w.nodes)
	third := w.nodes / 3
	nodes, err := fleet.New(ctx, fleet.Config{
		REST:     sidebyside.Protobuf(w.plane.RESTConfig()),
		Zones:    map[string]int{"a": w.nodes - 2*third, "b": third, "c": third},
		Interval: w.beat,
		Stored:   func(fleet.Beat) { w.beats.Add(1) },
	})
	if err != nil {
		return nil, err
	}
	beating, stop := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error { return nodes.Run(beating) })
	figures, err := w.compare(ctx, nodes, programs)
	stop()
	return figures, errors.Join(err, group.Wait())
}

// compare starts both programs and measures them over the same time.
func (w *world) compare(
	ctx context.Context, nodes *fleet.Fleet, programs [subjects]string,
) (*figures, error) {
	w.say("each gets %d pods", w.pods)
	for i := range w.pods {
		pod := fleet.Pod{Name: fmt.Sprintf("web%d", i), Tolerations: fleet.Tolerate(new(int64(300)))}
		if err := nodes.AddPods(ctx, nodes.AllNodes(), pod); err != nil {
			return nil, err
		}
	}
	var processes [subjects]*controlplane.Process
	for i, program := range programs {
		process, err := controlplane.StartProcess(controlplane.Command{
			Path:    program,
			Args:    arguments(w.plane.Kubeconfig(), filepath.Base(program)),
			LogFile: filepath.Join(w.plane.Dir(), filepath.Base(program)+".log"),
		})
		if err != nil {
			return nil, err
		}
		defer process.Stop(5 * time.Second)
		processes[i] = process
		if err := w.awaitLeader(ctx, filepath.Base(program), process); err != nil {
			return nil, err
		}
	}
	if err := wait.Until(ctx, "all nodes to be without taints", w.untainted); err != nil {
		return nil, err
	}
	w.say("settling for %v", w.settle)
	if err := wait.Pause(ctx, w.settle); err != nil {
		return nil, err
	}
	w.say("measuring for %v", w.measure)
	return w.measureAll(ctx, processes), nil
}

// arguments are those of either program.
func arguments(kubeconfig, name string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig, "--secure-port=0", "--leader-elect-resource-name=" + name,
		// So that the taints of new nodes go soon. At rest it has no effect.
		"--kube-api-qps=500", "--kube-api-burst=500",
	}
}

// measureAll samples both processes at the same times, as far as it gets.
func (w *world) measureAll(
	ctx context.Context, processes [subjects]*controlplane.Process,
) *figures {
	f := &figures{}
	beats := w.beats.Load()
	started := time.Now()
	for i := range parts + 1 {
		if err := wait.PauseUntil(ctx, started.Add(w.measure*time.Duration(i)/parts)); err != nil {
			f.err = fmt.Errorf("interrupted: %w", err)
			break
		}
		var readings [subjects]reading
		for k, process := range processes {
			readings[k] = read(process)
			if readings[k].err != nil && !slices.ContainsFunc(f.readings, failed(k)) {
				w.say("%s: %v\n%s", names[k], readings[k].err, process.LogTail(20))
			}
		}
		if !f.add(readings, time.Since(started), w.beats.Load()-beats) {
			f.err = readings[ours].err
			break
		}
	}
	return f
}

// read returns the CPU time of a process that has not ended.
func read(process *controlplane.Process) reading {
	if !process.Running() {
		return reading{err: wait.ErrEnded}
	}
	used, err := process.CPUTime()
	return reading{used, err}
}

// failed returns whether a subject has no reading.
func failed(subject int) func([subjects]reading) bool {
	return func(r [subjects]reading) bool { return r[subject].err != nil }
}

// awaitLeader waits until a program has filled its caches and leads.
func (w *world) awaitLeader(ctx context.Context, name string, process *controlplane.Process) error {
	return wait.Until(ctx, name+" to lead", func(ctx context.Context) (bool, error) {
		if !process.Running() {
			return false, fmt.Errorf("%w\n%s", wait.ErrEnded, process.LogTail(20))
		}
		leases := w.client.CoordinationV1().Leases(metav1.NamespaceSystem)
		lease, err := leases.Get(ctx, name, metav1.GetOptions{})
		return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", err
	})
}

// untainted reports whether ours has taken away what the API server and the
// start of the nodes have left.
func (w *world) untainted(ctx context.Context) (bool, error) {
	nodes, err := w.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return false, err
	}
	for i := range nodes.Items {
		if len(nodes.Items[i].Spec.Taints) > 0 {
			return false, nil
		}
	}
	return true, nil
}

func (w *world) say(format string, args ...any) {
	fmt.Fprintf(w.progress, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
