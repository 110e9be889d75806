// Command compare measures two programs that handle silent nodes, side by side
// on a real etcd and kube-apiserver. They are ours (examples/nodelifecycle,
// which evicts as well), and kube-controller-manager with the controllers
// node-lifecycle and taint-eviction.
//
//	go -C examples/e2e run ./compare
//	go -C examples/e2e run ./compare --scenario cut --html cut.html
//
// Some of many nodes die at once, or zones die one after another. It measures
// how long detection, taints and evictions take, what is evicted wrongly, API
// calls, CPU time and memory. Subjects take turns, each time on a fresh control
// plane. It prints a table in Markdown for each scenario: medians, and the
// least and the most if there are several repetitions. With --html it also
// writes them as a page, with plots of the first repetition. Progress goes to
// standard error. After SIGINT or SIGTERM the table has the plays that are
// complete, and what is known of the first one if none is.
//
// The exit code is 0 when ours did nothing wrong. It is 1 when ours evicted a
// pod wrongly, declared a living node, missed a dead one, or left a pod. It is
// 2 when flags are wrong or the table is incomplete. What upstream does wrong
// has no influence on it.
//
// # How it judges
//
// Nothing that a subject says about itself counts. The fleet knows which node
// died when, and which heartbeats were stored. A watch shows when a node became
// Unknown and tainted. The audit log of the API server has evictions and calls:
// each subject is a user of its own. CPU time and memory are those of the
// process. Package judge has the criterion.
//
// # How fair it is
//
// Both get the same nodes, pods and flags, those of kube-controller-manager's
// defaults except the rate of NoExecute taints. That is 10 nodes a second in
// both, or the default of one node in ten seconds would hide all else. The
// limit of 20 API calls a second is one for all of ours except Events, which
// have as many. In kube-controller-manager each of the two controllers may send
// as many, Events included.
//
// Nodes are those of package fleet: hollow nodes, which run in the process of
// this command. Their CPU time counts for neither subject.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/process/atomicfile"
	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

func main() {
	klog.SetLogger(klog.Logger{}) // the fleet logs each heartbeat that fails
	sidebyside.Main("compare", run)
}

// options are the flags.
type options struct {
	nodes, pods, cut, repetitions int
	scenarios                     []scenario
	subjects                      []subject
	times                         times
	html, dir                     string
}

// times are the periods of a play.
type times struct {
	// beat is how far apart the heartbeats of a node are, and grace how long it
	// may be silent. Subjects look at nodes every period.
	beat, grace, period time.Duration
	// patient is for how long some of the pods tolerate a silent node.
	patient time.Duration
	// gap is how far apart the losses of two zones are.
	gap time.Duration
	// settle is how long a subject may finish what it does at its start, and rest
	// how long its CPU time is measured after that.
	settle, rest time.Duration
}

// usual are the defaults of kubelets and kube-controller-manager.
func usual() times {
	return times{
		beat: 10 * time.Second, grace: 50 * time.Second, period: 5 * time.Second,
		patient: time.Minute, gap: time.Minute, settle: 25 * time.Second, rest: time.Minute,
	}
}

const help = `Compares examples/nodelifecycle with kube-controller-manager v1.37.1 on a real API server:
delays of detection, taints and evictions, wrong evictions, API calls, CPU time and memory.

  go -C examples/e2e run ./compare                                    all: about three hours
  go -C examples/e2e run ./compare --scenario cut --repetitions 1     a quarter of an hour
  go -C examples/e2e run ./compare --nodes 100 --pods 1000 --cut 10   a small cluster
  go -C examples/e2e run ./compare --subject ours --html ours.html    one side, as a page

Scenarios:
  cut    --cut nodes die at once, some of each zone
  zones  three zones of three tenths of the nodes die one after another, a minute apart

Exit code: 0 ours did nothing wrong; 1 it did; 2 wrong flags, or the table is incomplete.
Ctrl-C prints what is known by then.

Flags:
`

// fewestNodes give each of the three zones that die a node, and one lives.
const fewestNodes = 10

func parse(args []string, diagnostics io.Writer) (options, error) {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(diagnostics)
	flags.Usage = func() {
		fmt.Fprint(diagnostics, help)
		flags.PrintDefaults()
	}
	o := options{times: usual()}
	flags.IntVar(&o.nodes, "nodes", 1000, "how `many` nodes there are")
	flags.IntVar(&o.pods, "pods", 10_000, "how `many` pods there are, a multiple of the nodes")
	flags.IntVar(&o.cut, "cut", 100, "how `many` nodes die in the scenario cut, at most a fifth")
	flags.IntVar(&o.repetitions, "repetitions", 3, "how `often` each subject plays each scenario")
	flags.DurationVar(&o.times.rest, "rest", o.times.rest, "how long to measure before nodes die")
	scenarioNames := flags.String("scenario", "",
		"comma-separated `scenarios` (default: all): "+sidebyside.Names(scenarios()))
	subjectNames := flags.String("subject", "",
		"comma-separated `subjects` (default: all): "+sidebyside.Names(subjects()))
	flags.StringVar(&o.html, "html", "", "also write a page with plots to `FILE`")
	flags.StringVar(&o.dir, "dir", "", "`folder` for data and logs, which stay (default: temporary ones)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.scenarios, err = sidebyside.Select(scenarios(), *scenarioNames); err != nil {
		return o, fmt.Errorf("--scenario: %w", err)
	}
	if o.subjects, err = sidebyside.Select(subjects(), *subjectNames); err != nil {
		return o, fmt.Errorf("--subject: %w", err)
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("takes no arguments, got %q", flags.Args())
	case o.nodes < fewestNodes:
		return o, fmt.Errorf("--nodes is %d, want at least %d", o.nodes, fewestNodes)
	case o.pods < o.nodes || o.pods%o.nodes != 0 || o.pods > o.nodes*mostPods:
		return o, fmt.Errorf("--pods is %d, want a multiple of --nodes, %d, and at most %d for each",
			o.pods, o.nodes, mostPods)
	case o.cut < 1 || o.cut > o.nodes/5:
		return o, fmt.Errorf("--cut is %d, want 1 to %d, a fifth of the nodes", o.cut, o.nodes/5)
	case o.repetitions < 1 || o.times.settle+o.times.rest < o.times.grace*5/4:
		return o, fmt.Errorf("--repetitions is %d and --rest is %v, want at least 1 and %v",
			o.repetitions, o.times.rest, o.times.grace*5/4-o.times.settle)
	}
	return o, nil
}

// The exit codes besides 0.
const (
	exitOursFailed = 1
	exitUnknown    = 2
)

func run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	o, err := parse(args, diagnostics)
	if err != nil {
		return sidebyside.WithExitCode(err, exitUnknown)
	}
	return coded(o.compare(ctx, out, diagnostics))
}

// coded gives an error of compare its exit code. That ours failed is certain,
// also in a table that is incomplete.
func coded(err error) error {
	if errors.Is(err, sidebyside.ErrOursFailed) {
		return sidebyside.WithExitCode(err, exitOursFailed)
	}
	return sidebyside.WithExitCode(err, exitUnknown)
}

// compare plays all and writes the table and the page.
func (o options) compare(ctx context.Context, out, progress io.Writer) (err error) {
	page, err := atomicfile.NewFile("--html", o.html)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := o.playAll(ctx, dir, progress)
	err = r.write(out)
	if p := r.page(); p != nil {
		err = errors.Join(err, page.Write(func(out io.Writer) error { return htmlpage.Write(out, p) }))
	}
	return errors.Join(err, r.problem())
}
