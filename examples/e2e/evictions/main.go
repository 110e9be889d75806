// Command evictions plays what goes wrong while pods are evicted because of
// taints, on a real etcd and kube-apiserver. It counts the results of two
// programs: ours (examples/tainteviction) and kube-controller-manager's
// taint-eviction-controller.
//
//	go -C examples/e2e run ./evictions
//
// It prints a table in Markdown, and its progress on standard error. With
// --scenario and --subject it plays some of it only. A cell that cannot be
// judged says so, and the reason stands below the table. The exit code is 1
// when ours has evicted a pod early, late, wrongly or not at all, or when the
// table is incomplete. The message says which. Upstream's faults have no
// influence on it. After SIGINT or SIGTERM the table has what is known. With
// --ours it gives our program more flags, for instance --ours=--confirm.
//
// # How it judges
//
// Nodes and pods are plain objects: nothing runs, and a deleted pod is gone at
// once. Which pod is due when follows from what was put there and when, by a
// formula of one line in history.go. When it left, and by which
// request, is in the audit log of the API server; each subject is a user of its
// own. Nothing that a subject says about itself is asked for. Package judge
// compares the two.
//
// A DELETE by name may be received before a pod is made and remove it all the
// same: the API server reads the pod later. Upstream sends no UID, so such pods
// count as evicted by it. A pod that left without a request of this or another
// kind makes its cell one that cannot be judged.
//
// Both subjects get the same control plane, fresh for each scenario, the same
// pods, and the same limits for their requests.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kubelife/lifecycle/examples/e2e/evictions/judge"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

func main() { sidebyside.Main("evictions", run) }

// options are the flags.
type options struct {
	scenarios []scenario
	subjects  []subject
	parallel  int
	dir       string
}

func parse(args []string, diagnostics io.Writer) (options, error) {
	flags := flag.NewFlagSet("evictions", flag.ContinueOnError)
	flags.SetOutput(diagnostics)
	o := options{scenarios: scenarios(), subjects: subjects()}
	scenarioNames := flags.String("scenario", "", "comma-separated `scenarios` (default: all): "+sidebyside.Names(o.scenarios))
	subjectNames := flags.String("subject", "", "comma-separated `subjects` (default: all): "+sidebyside.Names(o.subjects))
	ours := flags.String("ours", "", "space-separated `flags` for our program, on top of those of the scenario")
	flags.IntVar(&o.parallel, "parallel", 2,
		"how `many` scenarios are played at a time, each on a control plane of its own")
	flags.StringVar(&o.dir, "dir", "", "`folder` for data and logs, which stay (default: temporary ones)")
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
	for i := range o.scenarios {
		o.scenarios[i].Ours = append(o.scenarios[i].Ours, strings.Fields(*ours)...)
	}
	if o.subjects, err = sidebyside.Select(o.subjects, *subjectNames); err != nil {
		return o, fmt.Errorf("--subject: %w", err)
	}
	return o, nil
}

// FlagName is what --scenario calls it.
func (s scenario) FlagName() string { return s.Name }

// FlagName is what --subject calls it.
func (s subject) FlagName() string { return s.Name }

func run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	o, err := parse(args, diagnostics)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "evictions-")
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
	t := newTable(o.scenarios, o.subjects)
	t.Play(ctx, o.parallel, progress, func(ctx context.Context, i, k int) (judge.Counts, error) {
		if problems[k] != nil {
			return judge.Counts{}, problems[k]
		}
		return play{o.scenarios[i], o.subjects[k], paths[k], o.dir, progress}.run(ctx)
	})
	return t
}
