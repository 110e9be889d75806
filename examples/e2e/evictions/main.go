// Command evictions plays what goes wrong while pods are evicted because of taints,
// on a real etcd and kube-apiserver, and counts what two programs make of it: ours
// (examples/tainteviction) and kube-controller-manager's taint-eviction-controller.
//
//	go -C examples/e2e run ./evictions
//
// It prints a table in Markdown, and its progress on standard error. With
// --scenario and --subject it plays some of it only. It exits with 1 when ours
// has evicted a pod early, late, wrongly or not at all; what upstream does has no
// influence on that. With --ours it gives our program more flags, for instance
// --ours=--confirm.
//
// # How it judges
//
// Nodes and pods are plain objects: nothing runs, and a deleted pod is gone at
// once. Which pod is due when follows from what was put there and when, by a formula
// of one line in history.go. When it left, and because of whose request, is in the audit
// log of the API server; each subject is a user of its own. Nothing that a
// subject says about itself is asked for. Package judge compares the two.
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
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/kubelife/lifecycle/examples/e2e/versus"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "evictions:", err)
		os.Exit(1)
	}
}

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
	scenarioNames := flags.String("scenario", "", "comma-separated `scenarios` (default: all): "+versus.Names(o.scenarios))
	subjectNames := flags.String("subject", "", "comma-separated `subjects` (default: all): "+versus.Names(o.subjects))
	ours := flags.String("ours", "", "space-separated `flags` for our program, on top of those of the scenario")
	flags.IntVar(&o.parallel, "parallel", 2, "how `many` scenarios are played at a time, each on a control plane of its own")
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
	if o.scenarios, err = versus.Select(o.scenarios, *scenarioNames); err != nil {
		return o, fmt.Errorf("--scenario: %w", err)
	}
	for i := range o.scenarios {
		o.scenarios[i].Ours = append(o.scenarios[i].Ours, strings.Fields(*ours)...)
	}
	if o.subjects, err = versus.Select(o.subjects, *subjectNames); err != nil {
		return o, fmt.Errorf("--subject: %w", err)
	}
	return o, nil
}

// FlagName is what --scenario calls it.
func (s scenario) FlagName() string { return s.Name }

// FlagName is what --subject calls it.
func (s subject) FlagName() string { return s.Name }

var errOursFailed = errors.New("ours has failed")

func run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	o, err := parse(args, diagnostics)
	if err != nil {
		return err
	}
	var t *table
	err = withPrograms(func(dir string) error {
		t, err = o.playAll(ctx, dir, versus.NewLines(diagnostics))
		return err
	})
	if err != nil {
		return err
	}
	if err := t.write(out); err != nil {
		return err
	}
	if failed := t.failed("ours"); len(failed) > 0 {
		return fmt.Errorf("%w: %s", errOursFailed, strings.Join(failed, ", "))
	}
	return nil
}

// playAll plays every scenario with every subject.
func (o options) playAll(ctx context.Context, programs string, progress io.Writer) (*table, error) {
	paths := map[string]string{}
	for _, s := range o.subjects {
		path, err := s.Build(ctx, programs, progress)
		if err != nil {
			return nil, err
		}
		paths[s.Name] = path
	}
	t := newTable(o.scenarios, o.subjects)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.parallel)
	var mu sync.Mutex
	for _, sub := range o.subjects {
		for _, sc := range o.scenarios {
			group.Go(func() error {
				counts, err := play{sc, sub, paths[sub.Name], o.dir, progress}.run(ctx)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", sc.Name, sub.Name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				t.counts[cell{sc.Name, sub.Name}] = counts
				return nil
			})
		}
	}
	return t, group.Wait()
}
