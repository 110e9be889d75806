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
// judged says so, and the reason stands below the table. The exit code is 1
// when ours has declared a living node or missed a dead one, or when the table
// is incomplete. The message says which. After SIGINT or SIGTERM the table has
// what is known.
//
// # How it judges
//
// Three sources say what happened, and none of them is the subject or its
// caches:
//
//   - The fleet of nodes records each heartbeat that the API server has
//     acknowledged, and when a node was cut off for good.
//   - The API server's audit log has the time and the user of each write of a
//     status and each deletion of a pod. Each subject is a user of its own.
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

	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/e2e/blindness/judge"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

func main() {
	// The fleet logs each beat that fails, and informers each outage.
	klog.SetLogger(klog.Logger{})
	sidebyside.Main("blindness", run)
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
		"comma-separated `scenarios` (default: all): "+sidebyside.Names(o.scenarios))
	subjectNames := flags.String("subject", "",
		"comma-separated `subjects` (default: all): "+sidebyside.Names(o.subjects))
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
	if o.scenarios, err = sidebyside.Select(o.scenarios, *scenarioNames); err != nil {
		return o, fmt.Errorf("--scenario: %w", err)
	}
	if o.subjects, err = sidebyside.Select(o.subjects, *subjectNames); err != nil {
		return o, fmt.Errorf("--subject: %w", err)
	}
	return o, nil
}

func run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	o, err := parse(args, diagnostics)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "blindness-")
	if err != nil {
		return err
	}
	t := o.playAll(ctx, dir, sidebyside.NewLines(diagnostics))
	return errors.Join(t.Write(out), os.RemoveAll(dir), t.Err())
}

// playAll plays every scenario with every subject.
func (o options) playAll(ctx context.Context, programs string, progress io.Writer) *table {
	paths, problems := make([]string, len(o.subjects)), make([]error, len(o.subjects))
	for i, s := range o.subjects {
		paths[i], problems[i] = s.Build(ctx, programs, progress)
	}
	t := newTable(o.scenarios, o.subjects, o.times)
	t.Play(ctx, o.parallel, progress, func(ctx context.Context, i, k int) (judge.Counts, error) {
		if problems[k] != nil {
			return judge.Counts{}, problems[k]
		}
		return play{o.scenarios[i], o.subjects[k], paths[k], o.times, o.dir, progress}.run(ctx)
	})
	return t
}
