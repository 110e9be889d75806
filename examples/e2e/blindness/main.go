// Command blindness plays what keeps a controller from hearing nodes that beat,
// on a real etcd and kube-apiserver. It counts the nodes that two programs
// declare dead: ours (examples/nodelifecycle) and kube-controller-manager's
// node-lifecycle-controller.
//
//	go -C examples/e2e run ./blindness
//	go -C examples/e2e run ./blindness --scenario stop,rolling --subject ours
//
// It stops the controller, kills the API server, delays and cuts watches, or
// silences some of many nodes for a while. A few nodes die meanwhile, so a
// program that declares no node at all is not flawless.
//
// The command prints a table in Markdown, and its progress on standard error.
// With --scenario and --subject it plays some of it only. All of it takes about
// half an hour, and seventeen minutes with --parallel 4. A cell that cannot be
// judged says why. The exit code is 1 when ours has declared a living node,
// missed a dead one, or could not be judged; the table comes first.
//
// # How it judges
//
// Three sources say what happened, and none of them is the subject or its
// caches:
//
//   - The fleet of nodes records each heartbeat that the API server has
//     acknowledged, and when a node was cut off for good.
//   - The audit log of the API server has the time and the user of each write
//     of a status and of each deletion of a pod. Each subject is a user of its
//     own.
//   - A watch on a direct connection says when Ready became Unknown, which
//     conditions with it, and which taints nodes have.
//
// Package judge compares them. Its doc comment has the criterion.
//
// # What both programs get
//
// Each scenario has a fresh control plane. The subjects get the same nodes, the
// same limits for their requests and the same periods. These are shorter than
// the defaults: a grace period of 20 s, beats every 5 s. Ours gets
// --node-heartbeat-interval with the interval of the beats; upstream has no
// such flag. With one replica leader election is off, because a leader ends
// when it cannot renew its lease.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/e2e/versus"
)

func main() {
	// The fleet logs each beat that fails, and informers each outage.
	klog.SetLogger(klog.Logger{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "blindness:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	scenarios []scenario
	subjects  []subject
	times     times
	parallel  int
	dir       string
}

func parse(args []string, diagnostics io.Writer) (options, error) {
	flags := flag.NewFlagSet("blindness", flag.ContinueOnError)
	flags.SetOutput(diagnostics)
	o := options{scenarios: scenarios(), subjects: subjects(), times: usual}
	scenarioNames := flags.String("scenario", "",
		"comma-separated `scenarios` (default: all): "+versus.Names(o.scenarios))
	subjectNames := flags.String("subject", "",
		"comma-separated `subjects` (default: all): "+versus.Names(o.subjects))
	flags.IntVar(&o.parallel, "parallel", 2,
		"how `many` scenarios are played at a time, each on a control plane of its own")
	flags.StringVar(&o.dir, "dir", "",
		"`folder` for data and logs, which stay (default: temporary ones)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("takes no arguments, got %q", flags.Args())
	}
	if o.parallel < 1 {
		return o, fmt.Errorf("--parallel is %d, want at least 1", o.parallel)
	}
	var err error
	if o.scenarios, err = versus.Select(o.scenarios, *scenarioNames); err != nil {
		return o, fmt.Errorf("--scenario: %w", err)
	}
	if o.subjects, err = versus.Select(o.subjects, *subjectNames); err != nil {
		return o, fmt.Errorf("--subject: %w", err)
	}
	return o, nil
}

var errOursFailed = errors.New("ours has failed")

func run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	o, err := parse(args, diagnostics)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "blindness-")
	if err != nil {
		return err
	}
	t := o.playAll(ctx, dir, versus.NewLines(diagnostics))
	if err := errors.Join(t.write(out), os.RemoveAll(dir)); err != nil {
		return err
	}
	if failed := t.failed("ours"); len(failed) > 0 {
		return fmt.Errorf("%w: %s", errOursFailed, strings.Join(failed, ", "))
	}
	return nil
}

// playAll plays every scenario with every subject. What goes wrong is a
// verdict.
func (o options) playAll(ctx context.Context, programs string, progress io.Writer) *table {
	t := newTable(o.scenarios, o.subjects, o.times)
	paths, problems := map[string]string{}, map[string]error{}
	for _, s := range o.subjects {
		paths[s.Name], problems[s.Name] = s.Build(ctx, programs, progress)
	}
	var group errgroup.Group
	group.SetLimit(o.parallel)
	var mu sync.Mutex
	for _, sc := range o.scenarios {
		for _, sub := range o.subjects {
			group.Go(func() error {
				v := verdict{err: problems[sub.Name]}
				if v.err == nil {
					v.counts, v.err = play{sc, sub, paths[sub.Name], o.times, o.dir, progress}.run(ctx)
				}
				if v.err != nil {
					fmt.Fprintf(progress, "%s, %s: %v\n", sc.Name, sub.Name, v.err)
				}
				mu.Lock()
				defer mu.Unlock()
				t.verdicts[cell{sc.Name, sub.Name}] = v
				return nil
			})
		}
	}
	_ = group.Wait() // no play returns an error
	return t
}
